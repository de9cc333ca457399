"""HTTP to exactly the address that was vetted, as a transport adapter of requests above libcurl.

The name stays in the Host header, in SNI and in the certificate check; no name is looked up here, so what DNS says a moment
later (rebinding) changes nothing. Redirects are not followed: whoever calls vets the next hop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import lru_cache
from ipaddress import ip_address
from time import monotonic
from typing import Any, cast
from urllib.parse import urlsplit

import certifi
import pycurl
from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter
from requests.exceptions import ChunkedEncodingError, InvalidURL
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPHeaderDict

from crawling.fetchers.decoding import PIECE_BYTES, Unpacked
from crawling.fetchers.egress import Way
from crawling.fetchers.lines import Lines, Site
from crawling.fetchers.transfer import Limits, Transfer
from crawling.rules.addresses import WEB, canonical_address

#: a name, and a value that ends no line (RFC 9110, section 5)
HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\r\n\0]*")
#: a server that sends a little every few seconds, be it headers or body, must not hold a thread for ever
MAX_ANSWER_SECONDS = 60.0
READ_SECONDS = 5.0
#: nor one that sends without end what never becomes a body: answers of status 100, trailers
MAX_ANSWER_BYTES = 64 * 1024 * 1024

Wants = Callable[[int, HTTPHeaderDict], bool]


class PinnedRequest(PreparedRequest):
    """A request with what requests has no words for.

    address: the vetted one. most: bytes of the body that are wanted. received, wants: as a Transfer has them.
    is_proxy_trusted: it may be told a name instead of an address.
    """

    address = ""
    most: int | None = None
    is_proxy_trusted = False
    received: Callable[[int], None] = staticmethod(lambda count: None)
    wants: Wants = staticmethod(lambda status, fields: True)


class Body:
    """The body of an answer, to be read any number of times: what a Response has for `raw`. Whoever has it last closes it.

    head, request: as they came, and as they were sent. size: bytes of it that have come.
    """

    def __init__(self, transfer: Transfer, request: bytes) -> None:
        self.file, self.headers, self.size = transfer.body, transfer.fields, transfer.size
        self.head, self.request, self.status = b"".join(transfer.lines), request, transfer.status
        self.close = self.release_conn = self.file.close  # requests calls the one or the other

    def read(self, size: int = -1) -> bytes:
        return self.file.read(size)

    def stream(self, size: int = PIECE_BYTES, decode_content: bool = True) -> Iterator[bytes]:
        """From its beginning on, as requests asks for it: with the content codings taken off, or as it came."""
        self.file.seek(0)
        pieces = iter(lambda: self.file.read(size), b"")
        return iter(self.unpacked(pieces)) if decode_content else pieces

    def unpacked(self, pieces: Iterator[bytes]) -> Unpacked:
        return Unpacked(pieces, self.headers.get("Content-Encoding", ""))


class PinnedSession(BaseAdapter):
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
        super().__init__()
        self._lines, self._is_cut = Lines(), False
        self._seconds, self._bytes, self._read_seconds = answer_seconds, answer_bytes, read_seconds
        self._authorities = authorities or certifi.where()

    def __enter__(self) -> PinnedSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let every connection go."""
        self._lines.clear()

    def cut_off(self) -> None:
        """End every fetch under way within a second, and begin none any more."""
        self._is_cut = True

    def is_cut(self) -> bool:
        return self._is_cut

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
        **own: Any,
    ) -> Response:
        """Fetch a canonical http or https URL from `address`, which must be vetted.

        `timeout` is for connecting and for the answer to begin. `way`: through a proxy, at an address that is vetted, too. The
        headers are sent as given, Host apart. own: of the PinnedRequest.
        Raises requests' exceptions when the fetch fails, and ValueError if `address` is no address or a header is no header.
        """
        request = PinnedRequest()
        request.method, request.url, request.body, request.address = method, url, body, address
        request.headers = CaseInsensitiveDict(headers)
        for name, value in own.items():
            setattr(request, name, value)
        request.is_proxy_trusted = way is not None and way.proxy.is_trusted
        return self.send(request, timeout=timeout, proxies={"all": way.url} if way else None)

    def send(
        self,
        request: PreparedRequest,
        stream: bool = False,
        timeout: Any = (5.0, 5.0),
        verify: bool | str = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> Response:
        """As requests has it. The answer is read as far as it is wanted; there is no way not to verify a certificate."""
        if not isinstance(request, PinnedRequest) or not request.address:
            raise ValueError("a request without a vetted address is not sent")
        if self._is_cut:
            raise ChunkedEncodingError("cut off")
        began, url = monotonic(), request.url or ""
        site, target = self._site(request, proxies or {})
        connecting, answering = timeout
        lines = _lines(request)
        dials = _endpoint(site)
        most = self._bytes if request.most is None else request.most
        transfer = Transfer(
            Limits(self._seconds, self._bytes, self._read_seconds, answering, most),
            may_dial=lambda address, port: (address, port) == dials,
            received=request.received,
            is_cut=self.is_cut,
            wants=request.wants,
            is_read_ahead=site.origin.startswith("https:"),
        )
        try:
            with self._lines.line(site) as curl:
                curl.setopt(pycurl.REQUEST_TARGET, target)
                curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(1, round(1000 * connecting)))
                _give(curl, request, lines)
                transfer.run(curl)
        except BaseException:
            transfer.body.close()
            raise
        body = request.body if isinstance(request.body, bytes) else b""
        sent = b"\r\n".join((f"{request.method} {target} HTTP/1.1".encode(), *lines, b"", body))
        return self._response(request, transfer, sent, url, monotonic() - began)

    def _site(self, request: PinnedRequest, proxies: Mapping[str, str]) -> tuple[Site, str]:
        url = request.url or ""
        written(request.address)
        if url.partition("://")[0] not in WEB:
            raise InvalidURL(f"{url!r} is no http or https URL")
        address = canonical_address(url)
        if not address.hostname:
            raise InvalidURL(f"{url!r} names no host")
        proxy = proxies.get(address.scheme) or proxies.get("all") or ""
        site = Site.of(address, request.address, proxy, self._authorities, is_trusted=request.is_proxy_trusted)
        return site, address.target if site.is_pinned else address.origin + address.target

    def _response(self, request: PinnedRequest, transfer: Transfer, sent: bytes, url: str, seconds: float) -> Response:
        response = Response()
        response.status_code, response.url, response.request = transfer.status, url, request
        response.raw = Body(transfer, sent)
        response.headers = cast(Any, transfer.fields)  # of which requests would make a copy
        response.elapsed = timedelta(seconds=seconds)
        return response


@lru_cache(maxsize=4096)
def written(address: str) -> str:
    """An address as libcurl's callbacks have it. Raises ValueError if it is none."""
    return str(ip_address(address))


def _endpoint(site: Site) -> tuple[str, int]:
    """Where the socket goes: the server's vetted address, or the proxy's."""
    if not site.proxy:
        return written(site.address), site.port
    proxy = urlsplit(site.proxy)
    return written(proxy.hostname or ""), proxy.port or 0


def _lines(request: PinnedRequest) -> list[bytes]:
    """The header lines in the order in which libcurl sends them."""
    origin = canonical_address(request.url or "").origin
    fields = [("Host", origin.partition("://")[2]), *request.headers.items()]
    if request.body is not None:
        fields.append(("Content-Length", str(len(request.body))))
    lines = [f"{name}: {value}".encode("latin-1") for name, value in fields]
    for line in lines:
        if not HEADER.fullmatch(line):
            raise ValueError(f"{line!r} is no header")
    return lines


def _give(curl: pycurl.Curl, request: PinnedRequest, lines: list[bytes]) -> None:
    """The lines are all that is sent: libcurl's own are taken away."""
    named = {line.partition(b":")[0].lower() for line in lines}
    own = [b"%s:" % name for name in (b"Accept", b"Expect", b"Content-Type") if name.lower() not in named]
    # an empty value is written with a semicolon, since a colon alone takes a header away
    said = [line[:-2] + b";" if line.endswith(b": ") else line for line in lines if not line.startswith(b"Content-Length:")]
    curl.setopt(pycurl.HTTPHEADER, said + own)
    # what is posted could be taken twice, were it sent over a connection that is closed meanwhile (RFC 9110, section 9.2.2)
    curl.setopt(pycurl.FRESH_CONNECT, request.body is not None)
    if request.body is None:
        curl.setopt(pycurl.HTTPGET, 1)
    else:
        curl.setopt(pycurl.POST, 1)
        curl.setopt(pycurl.POSTFIELDS, request.body)
