"""The canonical spelling of a URL, and the host to which it belongs (SEEDS W11; WHATWG URL
Standard).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ada_url import URL
from xxhash import xxh3_64_intdigest

from crawling.web.protocols import PROTOCOLS, WEB_PORTS, default_port
from dnscache.protocol.names import DnsCacheError, read_host

#: schemes with a robots.txt; only to these may a redirect or a page from the web lead
WEB = frozenset(WEB_PORTS)
#: schemes for which the URL Standard defines how names and paths are written
SPECIAL = WEB | {"ftp", "file"}
#: a longer URL is a trap or a mistake, and known servers refuse it
MAX_URL_LENGTH = 4096
#: the longest URL that another program may have fetched; no crawl here requests so long a URL
MAX_ARCHIVED_LENGTH = 65_536
#: a longer name cannot be looked up (RFC 1035, section 2.3.4)
MAX_NAME_LENGTH = 253
#: the host key of the machine that fetches; no host name has a colon
LOCAL_FILES = "file:"
#: the beginnings of fragments that name no place in a document, but a page that its scripts show
ROUTES = ("/", "!")
PORT = re.compile(r":[0-9]+\Z")


class BadUrl(ValueError):
    """The text is not a URL that can be crawled. The message says why.

    fault: the mistake in the spelling of the link; empty if the spelling may be right, but no
    fetcher here can fetch the target.
    """

    fault = ""


class NoUrl(BadUrl):
    """The URL Standard's parser fails on it."""

    fault = "is no URL"


class LongUrl(BadUrl):
    """It has more characters than it may have: MAX_URL_LENGTH, where it is to be fetched."""

    fault = f"is longer than {MAX_URL_LENGTH:,} characters"


class LongName(BadUrl):
    """Its host has a name of more than MAX_NAME_LENGTH characters."""

    fault = f"has a host name of more than {MAX_NAME_LENGTH} characters"


class BadPort(BadUrl):
    """It names port 0."""

    fault = "names port 0, which no server can have"


class WithPassword(BadUrl):
    """It carries a user name or password."""

    fault = "carries a user name or password, with which no link is followed"


class Address(NamedTuple):
    """A URL in canonical form and the parts that the crawler needs."""

    #: without its fragment, except that of a route
    url: str
    scheme: str
    hostname: str
    port: int

    @property
    def host_key(self) -> str:
        """The name, with the port if it is not the scheme's own: the key of a politeness clock. A
        name that is written with the root's dot is the same host.
        """
        return (
            LOCAL_FILES if self.scheme == "file" else self.hostname.removesuffix(".") + self._port
        )

    @property
    def origin(self) -> str:
        """Scheme, name and port, to which one robots.txt applies (RFC 9309, section 2.3)."""
        return f"{self.scheme}://{self.hostname}{self._port}"

    @property
    def _port(self) -> str:
        usual = WEB_PORTS.get(self.scheme) or default_port(self.scheme)
        return "" if self.port == usual else f":{self.port}"

    @property
    def target(self) -> str:
        """Path and query for the request line."""
        document = self.document_url
        return document[document.index("/", len(self.scheme) + 3) :]

    @property
    def document_url(self) -> str:
        """The URL that servers and archives know: without the fragment of a route."""
        return self.url.partition("#")[0]


def read_address(text: str, base: str | None = None, *, most: int = MAX_URL_LENGTH) -> Address:
    """Return the canonical address of `text`, resolved against `base` if given, without its
    fragment.

    Raises BadUrl if the text is no URL, has a scheme without a fetcher, carries a password, names
    port 0, or has more than `most` characters.
    """
    try:
        url = URL(text, base) if base else URL(text)
    except (ValueError, UnicodeEncodeError) as error:
        raise NoUrl(
            f"{text[:200]!r} is not a URL; write it whole, like https://example.org/"
        ) from error
    scheme = url.protocol[:-1]
    usual_port = default_port(scheme)
    if usual_port is None:
        raise BadUrl(
            f"{text[:200]!r}: scheme {scheme!r} cannot be crawled; {_scheme_remedy(scheme)}"
        )
    # each is read once, since reading these takes most of the time
    hostname, port, href = (
        (url.hostname, url.port, url.href)
        if scheme in SPECIAL
        else _canonical_parts(text, url, usual_port)
    )
    if scheme == "file" and hostname:
        raise BadUrl(
            f"{text[:200]!r}: a file: URL has three slashes and names no host, like "
            "file:///srv/papers/"
        )
    if ("@" in href or scheme not in SPECIAL) and (url.username or url.password):
        raise WithPassword(f"{text[:200]!r}: remove the user name and password from the URL")
    href = href.partition("#")[0]
    if len(href) > most:
        raise LongUrl(f"{href[:80]!r}… is longer than {most} characters")
    if len(hostname) > MAX_NAME_LENGTH:
        raise LongName(
            f"{href[:80]!r}…: the host's name is longer than {MAX_NAME_LENGTH} characters"
        )
    # no server can listen on port 0, and urllib3 would use the scheme's usual port instead, which
    # was not vetted
    if port == "0":
        raise BadPort(f"{text[:200]!r}: port 0 cannot be connected to")
    return Address(href, scheme, hostname, int(port or usual_port))


def read_route(text: str, page: Address) -> Address | None:
    """The address, with its fragment, of a page that a document's scripts show for this fragment,
    such as `#/about`. None if the text leads to another document, or to a place in this one.

    Only a browser finds such a page, so `read_address` does not know them.
    """
    try:
        url = URL(text, page.document_url).href
    except (ValueError, UnicodeEncodeError):
        return None
    document, _, fragment = url.partition("#")
    is_route = document == page.document_url and fragment.startswith(ROUTES)
    return page._replace(url=url) if is_route and len(url) <= MAX_URL_LENGTH else None


def _scheme_remedy(scheme: str) -> str:
    known = " or ".join([*sorted(WEB, reverse=True), *PROTOCOLS.parts])
    return PROTOCOLS.fault_of(scheme) or f"use {known}"


def _canonical_parts(text: str, url: URL, usual_port: int) -> tuple[str, str, str]:
    """Name, port and URL for a scheme whose spelling the URL Standard does not define: spelt like
    https.

    Raises BadUrl if the URL names no host.
    """
    rest = url.href.removeprefix(url.protocol)
    if not (rest.startswith("//") and url.hostname):
        raise BadUrl(f"{text[:200]!r} names no host; write it like {url.protocol}//example.org/")
    try:
        twin = URL(f"https:{rest}")
    except ValueError as error:
        raise NoUrl(f"{text[:200]!r} is not a URL: its host or port cannot be read") from error
    port = "" if url.port == str(usual_port) else url.port
    place = f"{twin.hostname}:{port}" if port else twin.hostname
    return twin.hostname, port, f"{url.protocol}//{place}{twin.pathname}{twin.search}"


def canonical_address(url: str) -> Address:
    """The address of a URL that `read_address` has already made canonical. Takes a tenth of the
    time of `read_address`.

    The port is 0 if the scheme no longer has a fetcher.
    """
    scheme, _, rest = url.partition("://")
    host = rest[: rest.index("/")]
    name, _, port = host.rpartition(":")
    return (
        Address(url, scheme, name, int(port))
        if name and port.isdigit()
        else Address(url, scheme, host, default_port(scheme) or 0)
    )


def may_link_to_scheme(scheme: str, to: str) -> bool:
    """Whether a document of one scheme may lead to a document of another. Links from the web never
    lead to this machine's files.
    """
    return to != "file" or scheme == "file"


def dns_name(host_key: str) -> str:
    """Return the name to look up before a fetch from the host. Empty if none is needed or
    allowed.
    """
    hostname = host_key if host_key.endswith("]") else PORT.sub("", host_key)
    try:
        host = read_host(hostname)
    except DnsCacheError:
        return ""
    return "" if host.is_literal else host.text


def fingerprint(url: str) -> int:
    """A hash of the canonical URL, of 64 bits, signed for PostgreSQL's bigint."""
    return signed_64_bits(xxh3_64_intdigest(url.encode()))


def fingerprints(url: str) -> list[int]:
    """The fingerprints under which a run may have a URL: its own or, if another URL has taken it,
    the next free one. Three URLs with one fingerprint have never been seen.
    """
    first = fingerprint(url)
    return [signed_64_bits((first + step) % (1 << 64)) for step in range(4)]


def signed_64_bits(number: int) -> int:
    """The signed number with the same bits as an unsigned 64-bit number."""
    return number - (1 << 64) if number >= 1 << 63 else number


def bracketed_host(host: str) -> str:
    """A host as URLs write it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host
