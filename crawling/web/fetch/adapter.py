"""HTTP to exactly the vetted address, as a transport adapter for the library requests that uses
libcurl.

The name stays in the Host header, in SNI and in the certificate check; no name is looked up here,
so a later DNS answer (rebinding) changes nothing. Redirects are not followed: the caller vets the
next hop.
"""

from __future__ import annotations

import re
import ssl
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, cast

import certifi
import pycurl
from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter
from requests.exceptions import ChunkedEncodingError, InvalidURL

from crawling.web.addresses import canonical_address
from crawling.web.document_stream import DocumentStream
from crawling.web.fetch.connections import ConnectionPool, ConnectionSite
from crawling.web.fetch.content_codings import PIECE_BYTES, DecodedBody
from crawling.web.fetch.transfer import Transfer, TransferLimits

#: a header's name, and a value that ends no line (RFC 9110, section 5)
HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\r\n\0]*")
#: header lines that libcurl would add; they are removed, so that only the request's own lines are
#: sent
NO_OTHERS = [b"Accept:", b"Expect:", b"Content-Type:", b"TE:"]


class PinnedRequest(PreparedRequest):
    """A request with options that the library requests lacks.

    address: the vetted address. most: the bytes of the body that are wanted. is_proxy_trusted:
    whether the proxy may get a name instead of an address. watching: `received` and `wants` of the
    Transfer.
    """

    def __init__(
        self,
        url: str,
        *,
        address: str,
        headers: Mapping[str, str],
        method: str = "GET",
        body: bytes | None = None,
        most: int = sys.maxsize,
        is_proxy_trusted: bool = False,
        **watching: Any,
    ) -> None:
        super().__init__()
        self.method, self.url, self.address, self.most = method, url, address, most
        self.is_proxy_trusted, self.watching = is_proxy_trusted, watching
        self.body = self.posted = body
        length = {} if body is None else {"Content-Length": str(len(body))}
        self.headers = cast(Any, {**headers, **length})  # requests would copy them


class ResponseBody:
    """The body of an answer, to be read any number of times: the `raw` of a Response.

    head: as received. request: as sent. size: the received bytes of the body. is_broken_off:
    whether the body was cut short. certificate_ends_at: the end of the server's certificate, if a
    connection was made.
    """

    def __init__(
        self, transfer: Transfer, request: bytes, certificate_ends_at: datetime | None
    ) -> None:
        self.size = transfer.body.tell()
        self._content = DocumentStream(transfer.body, self.size)
        self.is_broken_off = transfer.is_broken_off
        self.head, self.headers = b"".join(transfer.head.lines), transfer.head.fields
        self.request, self.certificate_ends_at = request, certificate_ends_at
        self.close = self.release_conn = self._content.close  # requests calls either of the two

    def document(self) -> DocumentStream:
        """The document as received, for another holder."""
        return self._content.share()

    def stream(self, size: int = PIECE_BYTES, decode_content: bool = True) -> DecodedBody:
        """The body from its beginning on: with the content codings removed, or as received."""
        codings = self.headers.get("Content-Encoding", "") if decode_content else ""
        return DecodedBody(self._content.pieces(size=size), codings)


class PinnedSession(BaseAdapter):
    """Keeps connections by scheme, name, port, address and route. Any number of threads may share
    it.

    Uses neither cookies, credentials, .netrc nor the environment's proxies.

    authorities: a file of certificates to trust instead of those of certifi. limits: the limits of
    each request.
    """

    def __init__(self, *, authorities: str | None = None, **limits: Any) -> None:
        super().__init__()
        self._lines = ConnectionPool(authorities or certifi.where())
        self._cut, self._limits = threading.Event(), TransferLimits(**limits)

    def __enter__(self) -> PinnedSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._lines.clear()

    def end_transfers(self) -> None:
        """End every fetch under way within a second, and begin no further ones."""
        self._cut.set()

    def is_cut(self) -> bool:
        return self._cut.is_set()

    def send(
        self,
        request: PreparedRequest,
        stream: bool = False,
        timeout: Any = (5.0, 5.0),
        verify: bool | str = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> Response:
        """Fetch a canonical http or https URL; the request is a PinnedRequest.

        timeout: the seconds for connecting, and until the answer begins. proxies: their addresses
        are also vetted. The answer is read as far as wanted, and a certificate is always verified.
        Raises requests' exceptions when the fetch fails, and ValueError for an invalid address or
        header.
        """
        if not isinstance(request, PinnedRequest):
            raise ValueError("a request without a vetted address is not sent")
        if self.is_cut():
            raise ChunkedEncodingError("cut off")
        site, target, lines = _request_parts(request, proxies or {})
        transfer = Transfer(
            self._limits._replace(first_byte_seconds=timeout[1], most=request.most),
            may_dial=lambda address, port: (address, port) == site.dialled,
            is_cut=self.is_cut,
            **request.watching,
        )
        try:
            with self._lines.line(site) as curl:
                curl.setopt(pycurl.REQUEST_TARGET, target)
                curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(1, round(1000 * timeout[0])))
                _set_request(curl, lines, request.posted)
                transfer.run(curl)
                is_new = transfer.has_connected and site.origin.startswith("https:")
                ends_at = certificate_end(curl) if is_new else None
        except BaseException:
            transfer.body.close()
            raise
        sent = (f"{request.method} {target} HTTP/1.1".encode(), *lines, b"", request.posted or b"")
        return _build_response(
            request, transfer, ResponseBody(transfer, b"\r\n".join(sent), ends_at)
        )


def _request_parts(
    request: PinnedRequest, proxies: Mapping[str, str]
) -> tuple[ConnectionSite, str, list[bytes]]:
    """The request's address, its target, and its header lines."""
    url = request.url or ""
    if not url.startswith(("http://", "https://")) or ":///" in url[:9]:
        raise InvalidURL(f"{url!r} is no http or https URL")
    address = canonical_address(url)
    proxy = proxies.get(address.scheme) or proxies.get("all", "")
    is_told = request.is_proxy_trusted and proxy.startswith("http:") and address.scheme == "http"
    origin, target, vetted = address.origin, address.target, _canonical_ip(request.address)
    site = ConnectionSite(origin, vetted, address.port, proxy, not is_told)
    fields = ("Host", origin.partition("://")[2]), *request.headers.items()
    return site, origin + target if is_told else target, [_header_line(*each) for each in fields]


@lru_cache(maxsize=1024)  # as below
def _canonical_ip(address: str) -> str:
    return str(ip_address(address))


def _build_response(request: PinnedRequest, transfer: Transfer, body: ResponseBody) -> Response:
    response = Response()
    response.status_code, response.url = transfer.head.status, request.url or ""
    response.request, response.raw = request, body
    response.headers = cast(Any, transfer.head.fields)  # requests would copy them
    return response


@lru_cache(maxsize=1024)  # most calls repeat the previous one
def _header_line(name: str, value: str) -> bytes:
    line = f"{name}: {value}".encode("latin-1")
    if not HEADER.fullmatch(line):
        raise ValueError(f"{line!r} is no header")
    return line


def _set_request(curl: pycurl.Curl, lines: list[bytes], body: bytes | None) -> None:
    # an empty value is written with a semicolon, since a colon alone removes the header
    said = [line[:-2] + b";" if line.endswith(b": ") else line for line in lines]
    curl.setopt(pycurl.HTTPHEADER, said + NO_OTHERS)
    curl.setopt(pycurl.HTTPGET, 1)
    if body is not None:
        curl.setopt(pycurl.POSTFIELDS, body)
    # a server could accept a form twice if it were sent over a connection that is closed meanwhile
    # (RFC 9110, section 9.2.2)
    curl.setopt(pycurl.FRESH_CONNECT, body is not None)


#: libcurl's name for the end of a certificate
ENDS = b"Expire date"


def certificate_end(curl: pycurl.Curl) -> datetime | None:
    """The end of the verified certificate that names the server; None if libcurl reports none.

    Other certificates from the server do not count: old roots among them are not used.
    """
    for certificate in curl.getinfo_raw(pycurl.INFO_CERTINFO)[:1]:
        for name, value in certificate:
            if name == ENDS:
                return _certificate_moment(value)
    return None


def _certificate_moment(text: bytes) -> datetime | None:
    try:
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(text.decode("ascii")), UTC)
    except (ValueError, OverflowError, OSError):  # a year beyond the range of dates
        return None
