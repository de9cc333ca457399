"""HTTP over a socket to exactly the address that was vetted.

The name stays in the Host header, in SNI and in the certificate check; no name is looked up here, so what DNS says a moment
later (rebinding) changes nothing. Redirects are not followed: whoever calls vets the next hop.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from ipaddress import ip_address

import certifi
from urllib3.exceptions import LocationParseError, ProtocolError

from crawling.fetchers.egress import Way, authorization
from crawling.fetchers.idle import Idle
from crawling.fetchers.sockets import Sockets
from crawling.fetchers.wire import Connection, Incoming, Limits
from crawling.rules.addresses import WEB, Address, canonical_address

#: a name, and a value that ends no line (RFC 9110, section 5)
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\r\n\0]*")
#: a server that sends a little every few seconds, be it headers or body, must not hold a thread for ever
MAX_ANSWER_SECONDS = 60.0
READ_SECONDS = 5.0
#: nor one that sends without end what never becomes a body: answers of status 100, trailers, empty blocks of gzip
MAX_ANSWER_BYTES = 64 * 1024 * 1024


@cache
def trusting(authorities: str) -> ssl.SSLContext:
    """What checks certificates by a file of authorities. Reading one takes 20 ms, in which other threads stand still."""
    return ssl.create_default_context(cafile=authorities)


class PinnedSession:
    """Keeps connections by scheme, name, port, address and way: a site that moves gets a new one. Shared by any number of threads.
    Knows neither cookies, credentials, .netrc nor the environment's proxies.

    `authorities` is a file of certificates to trust instead of certifi's; `answer_seconds` is the longest to wait for one whole
    answer, `answer_bytes` the most to read of it, headers and compression included; `read_seconds` the longest between two pieces.
    """

    def __init__(
        self,
        *,
        authorities: str | None = None,
        answer_seconds: float = MAX_ANSWER_SECONDS,
        answer_bytes: int = MAX_ANSWER_BYTES,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        self._sockets, self._idle = Sockets(), Idle()
        self._limits = Limits(answer_seconds, answer_bytes, read_seconds)
        self._trust = trusting(authorities or certifi.where())

    def __enter__(self) -> PinnedSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let every connection go."""
        self._idle.clear()

    def cut_off(self) -> None:
        """End every fetch under way, but for those that are still connecting, and begin none any more."""
        self._sockets.cut()

    @contextmanager
    def get_pinned(
        self,
        url: str,
        *,
        address: str,
        headers: Mapping[str, str],
        timeout: tuple[float, float] = (5.0, 5.0),
        method: str = "GET",
        body: bytes | None = None,
        way: Way | None = None,
    ) -> Iterator[Incoming]:
        """Fetch a canonical http or https URL from `address`, which must be vetted; the body is left to be streamed.

        `timeout` is for connecting and for the answer to begin. `way`: through a proxy, at an address that is vetted, too. The
        headers are sent as given, Host apart. An answer that is read to its end leaves its connection for the next request.
        Raises urllib3's HTTPError when the fetch fails, and ValueError if `address` is no address, the URL has no path, or a header is
        no header.
        """
        ip_address(address)
        if url.partition("://")[0] not in WEB:
            raise LocationParseError(f"{url!r} is no http or https URL")
        site = canonical_address(url)
        if not site.hostname:
            raise LocationParseError(f"{url!r} names no host")
        request = _request(method, site, headers, body, way)
        key = (site.origin, address, way)
        # What is posted could be taken twice, were it repeated where a kept connection has closed (RFC 9110, section 9.2.2).
        kept = self._idle.take(key) if body is None else None
        connection = kept or Connection(site, address, way, self._limits, self._trust, self._sockets)
        if self._sockets.are_cut:
            connection.close()
            raise ProtocolError("cut off")
        connecting, answering = timeout
        answer = connection.ask(request, connecting=connecting, answering=answering)
        try:
            yield answer
        finally:
            if answer.finish():
                self._idle.keep(key, connection)
            else:
                connection.close()


def _request(method: str, site: Address, headers: Mapping[str, str], body: bytes | None, way: Way | None) -> bytes:
    target, own = site.target, {}
    if way is not None and way.proxy.is_trusted and site.scheme == "http":
        target = site.origin + target
        if secret := authorization(way.proxy):
            own["Proxy-Authorization"] = secret
    if body is not None:
        own["Content-Length"] = str(len(body))
    lines = [f"{method} {target} HTTP/1.1", f"Host: {site.origin.partition('://')[2]}"]
    for name, value in (*headers.items(), *own.items()):
        line = f"{name}: {value}"
        if not HEADER.fullmatch(line):
            raise ValueError(f"{line!r} is no header")
        lines.append(line)
    return "\r\n".join((*lines, "", "")).encode("latin-1") + (body or b"")
