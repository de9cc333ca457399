"""What makes two spellings one URL, and which host a URL belongs to (SEEDS W11; WHATWG URL Standard)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ada_url import URL
from xxhash import xxh3_64_intdigest

from dnscache.errors import DnsCacheError
from dnscache.names import read_host

#: schemes that the crawler has a fetcher for
SCHEMES = frozenset({"http", "https"})
#: longer ones are traps or mistakes, and no server we know takes them
MAX_URL_LENGTH = 4096
#: longer names cannot be asked for (RFC 1035, section 2.3.4)
MAX_NAME_LENGTH = 253
DEFAULT_PORTS = {"http": 80, "https": 443}


class BadUrl(ValueError):
    """The text is not a URL that can be crawled; the message says why."""


@dataclass(frozen=True, slots=True)
class Address:
    """A URL in canonical form and the parts that the crawler asks for.

    host_key: the name, with the port where it is not the scheme's own: what one politeness clock counts.
    origin: scheme, name and port: what one robots.txt holds for (RFC 9309, section 2.3).
    """

    url: str
    scheme: str
    hostname: str
    port: int

    @property
    def host_key(self) -> str:
        return self.hostname if self.port == DEFAULT_PORTS[self.scheme] else f"{self.hostname}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host_key}"

    @property
    def target(self) -> str:
        """Path and query, as the request line wants them."""
        return self.url[self.url.index("/", len(self.scheme) + 3) :]


def read_address(text: str, base: str | None = None) -> Address:
    """Return the canonical address of `text`, joined to `base` if given; the fragment is dropped.

    Raises BadUrl for what is no URL, has another scheme than SCHEMES, carries a password, names port 0, or is too long.
    """
    try:
        url = URL(text, base) if base else URL(text)
    except (ValueError, UnicodeEncodeError) as error:
        raise BadUrl(f"{text[:200]!r} is not a URL; write it whole, like https://example.org/") from error
    scheme = url.protocol[:-1]
    if scheme not in SCHEMES:
        raise BadUrl(f"{text[:200]!r}: scheme {scheme!r} cannot be crawled; use {' or '.join(sorted(SCHEMES))}")
    if url.username or url.password:
        raise BadUrl(f"{text[:200]!r}: remove the user name and password from the URL")
    if url.hash:
        url.hash = ""
    href = url.href
    if len(href) > MAX_URL_LENGTH:
        raise BadUrl(f"{href[:80]!r}… is longer than {MAX_URL_LENGTH} characters")
    if len(url.hostname) > MAX_NAME_LENGTH:
        raise BadUrl(f"{href[:80]!r}…: the host's name is longer than {MAX_NAME_LENGTH} characters")
    if url.port == "0":  # nobody can listen there, and urllib3 would take it for the scheme's own port, which was not vetted
        raise BadUrl(f"{text[:200]!r}: port 0 cannot be connected to")
    return Address(href.removesuffix("#"), scheme, url.hostname, int(url.port or DEFAULT_PORTS[scheme]))


def dns_name(host_key: str) -> str:
    """Return the name that DNS must be asked for before anybody can fetch from the host; empty: nobody need or may be asked."""
    hostname = host_key if host_key.endswith("]") else re.sub(r":[0-9]+$", "", host_key)
    try:
        host = read_host(hostname)
    except DnsCacheError:
        return ""
    return "" if host.is_literal else host.text


def fingerprint(url: str) -> int:
    """64 bits of the canonical URL, signed, as PostgreSQL's bigint wants them."""
    return signed(xxh3_64_intdigest(url.encode()))


def signed(number: int) -> int:
    """An unsigned 64-bit number as the signed one with the same bits."""
    return number - (1 << 64) if number >= 1 << 63 else number
