"""What makes two spellings one URL, and which host a URL belongs to (SEEDS W11; WHATWG URL
Standard).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ada_url import URL
from xxhash import xxh3_64_intdigest

from dnscache.protocol.names import DnsCacheError, read_host

#: schemes that the crawler has a fetcher for
SCHEMES = frozenset({"http", "https", "ftp", "file"})
#: those with a robots.txt, and to which alone a redirect or a page from the web may lead unasked
WEB = frozenset({"http", "https"})
#: longer ones are traps or mistakes, and known servers refuse them
MAX_URL_LENGTH = 4096
#: longer names cannot be asked for (RFC 1035, section 2.3.4)
MAX_NAME_LENGTH = 253
DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21, "file": 0}
#: the machine that fetches; no host name has a colon
LOCAL_FILES = "file:"
PORT = re.compile(r":[0-9]+\Z")


class BadUrl(ValueError):
    """The text is not a URL that can be crawled; the message says why."""


class Address(NamedTuple):
    """A URL in canonical form and the parts that the crawler asks for."""

    url: str
    scheme: str
    hostname: str
    port: int

    @property
    def host_key(self) -> str:
        """The name, with the port where it is not the scheme's own: the key of a politeness clock.
        A name that is written with the root's dot is the same host.
        """
        return (
            LOCAL_FILES if self.scheme == "file" else self.hostname.removesuffix(".") + self._port
        )

    @property
    def origin(self) -> str:
        """Scheme, name and port: what one robots.txt holds for (RFC 9309, section 2.3)."""
        return f"{self.scheme}://{self.hostname}{self._port}"

    @property
    def _port(self) -> str:
        return "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"

    @property
    def target(self) -> str:
        """Path and query for the request line."""
        return self.url[self.url.index("/", len(self.scheme) + 3) :]


def read_address(text: str, base: str | None = None) -> Address:
    """Return the canonical address of `text`, joined to `base` if given; the fragment is dropped.

    Raises BadUrl for what is no URL, has another scheme than SCHEMES, carries a password, names
    port 0, or is too long.
    """
    try:
        url = URL(text, base) if base else URL(text)
    except (ValueError, UnicodeEncodeError) as error:
        raise BadUrl(
            f"{text[:200]!r} is not a URL; write it whole, like https://example.org/"
        ) from error
    scheme = url.protocol[:-1]
    if scheme not in SCHEMES:
        raise BadUrl(
            f"{text[:200]!r}: scheme {scheme!r} cannot be crawled; use "
            f"{' or '.join(sorted(SCHEMES, reverse=True))}"
        )
    # each is read once: reading is what costs here
    hostname, port, href = url.hostname, url.port, url.href
    if scheme == "file" and hostname:
        raise BadUrl(
            f"{text[:200]!r}: a file: URL has three slashes and names no host, like "
            "file:///srv/papers/"
        )
    if "@" in href and (url.username or url.password):
        raise BadUrl(f"{text[:200]!r}: remove the user name and password from the URL")
    href = href.partition("#")[0]
    if len(href) > MAX_URL_LENGTH:
        raise BadUrl(f"{href[:80]!r}… is longer than {MAX_URL_LENGTH} characters")
    if len(hostname) > MAX_NAME_LENGTH:
        raise BadUrl(f"{href[:80]!r}…: the host's name is longer than {MAX_NAME_LENGTH} characters")
    # port 0 cannot be listened on, and urllib3 would replace it by the scheme's own port, which was
    # not vetted
    if port == "0":
        raise BadUrl(f"{text[:200]!r}: port 0 cannot be connected to")
    return Address(href, scheme, hostname, int(port or DEFAULT_PORTS[scheme]))


def canonical_address(url: str) -> Address:
    """The address of a URL that `read_address` has made canonical before, in a tenth of the
    time."""
    scheme, _, rest = url.partition("://")
    host = rest[: rest.index("/")]
    name, _, port = host.rpartition(":")
    return (
        Address(url, scheme, name, int(port))
        if name and port.isdigit()
        else Address(url, scheme, host, DEFAULT_PORTS[scheme])
    )


def may_lead(scheme: str, to: str) -> bool:
    """Whether a document of one scheme may lead to one of another: what strangers write never
    reaches this machine's files.
    """
    return to != "file" or scheme == "file"


def dns_name(host_key: str) -> str:
    """Return the name to look up before a fetch from the host; empty: none is needed or allowed."""
    hostname = host_key if host_key.endswith("]") else PORT.sub("", host_key)
    try:
        host = read_host(hostname)
    except DnsCacheError:
        return ""
    return "" if host.is_literal else host.text


def fingerprint(url: str) -> int:
    """64 bits of the canonical URL, signed, for PostgreSQL's bigint."""
    return signed(xxh3_64_intdigest(url.encode()))


def fingerprints(url: str) -> list[int]:
    """Those under which a run may know a URL: its own, or, where another has that, the next that
    was free. A third of one fingerprint has never been seen."""
    first = fingerprint(url)
    return [signed((first + step) % (1 << 64)) for step in range(4)]


def signed(number: int) -> int:
    """An unsigned 64-bit number as the signed one with the same bits."""
    return number - (1 << 64) if number >= 1 << 63 else number


def bracketed(host: str) -> str:
    """A host as URLs have it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host
