"""HTTP over a socket to exactly the address that was vetted.

The name stays in the Host header, in SNI and in the certificate check; no name is looked up here, so what DNS says a moment
later (rebinding) changes nothing. Redirects are not followed: whoever calls vets the next hop.
"""

from __future__ import annotations

import io
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http.client import HTTPResponse, IncompleteRead, RemoteDisconnected
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

import certifi
import requests
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidURL
from requests.models import PreparedRequest
from requests.structures import CaseInsensitiveDict
from requests.utils import urldefragauth
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from crawling.fetchers.egress import Way, authorization, connect
from crawling.fetchers.progress import say
from crawling.rules.steps import Step

DEFAULT_PORTS = {"http": 80, "https": 443}
#: connections kept open, one site each; the least recently used is closed
MOST_SITES = 256
#: idle connections kept for one site; politeness asks for one request at a time
IDLE_PER_SITE = 2
#: a server that sends a little every few seconds, be it headers or body, must not hold a thread for ever
MAX_ANSWER_SECONDS = 60.0
READ_SECONDS = 5.0
#: nor one that sends without end what never becomes a body: answers of status 100, trailers, empty blocks of gzip
MAX_ANSWER_BYTES = 64 * 1024 * 1024


class _Incoming(io.RawIOBase):
    """What a server sends, as long as it is no more than `most` bytes and waiting for it takes no more than `seconds` in all.

    What we do in between is not the server's fault. `count` is what has come so far, as it came; `begun` is called once the
    first of it has.
    """

    def __init__(self, source: io.RawIOBase, seconds: float, most: int, *, begun: Callable[[], None]) -> None:
        self._source, self._seconds, self._waited, self._most, self.count = source, seconds, 0.0, most, 0
        self._begun = begun
        self.has_begun = self.has_ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._waited > self._seconds:
            raise TimeoutError(f"the whole answer took longer than {self._seconds:g} s")
        if self.count > self._most:
            raise OSError("the answer goes on without end")
        asked_at = time.monotonic()
        count = self._source.readinto(buffer)
        self._waited += time.monotonic() - asked_at
        self.count += count or 0
        if count and not self.has_begun:
            self._begun()
        self.has_begun, self.has_ended = self.has_begun or bool(count), not count
        return count

    def close(self) -> None:
        self._source.close()
        super().close()


class _Reader(io.BufferedReader):
    """Keeps the lines of an answer's head as they came, until `take_head`; of several heads (status 100 before 200) the last."""

    def __init__(self, source: io.RawIOBase) -> None:
        super().__init__(source)
        self._head: list[bytes] | None = []

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(-1 if size is None else size)
        if self._head is not None:
            if self._head and self._head[-1] in (b"\r\n", b"\n"):
                self._head.clear()
            self._head.append(line)
        return line

    def take_head(self) -> bytes:
        head, self._head = b"".join(self._head or ()), None
        return head


class _Sockets:
    """Those of a session, so that they can be cut off: whoever reads from one is told at once that nothing more comes."""

    def __init__(self) -> None:
        self._open: WeakSet[socket.socket] = WeakSet()
        self._lock = threading.Lock()
        self.are_cut = False

    def add(self, sock: socket.socket) -> None:
        with self._lock:
            self._open.add(sock)
            if self.are_cut:
                _shut(sock)

    def cut(self) -> None:
        """Shut all that there are, and all that come."""
        with self._lock:
            self.are_cut = True
            for sock in self._open:
                _shut(sock)


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):  # it has been closed
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not TLS's own, which takes its state away from whoever reads


class _PinnedConnection(HTTPConnection):
    """`host` is the name; the socket goes to `pinned_address`. Responses carry the exchange's bytes, `sent_bytes` and `head_bytes`,
    and what counts all that has come, `incoming`."""

    def __init__(
        self,
        *args: Any,
        pinned_address: str,
        way: Way | None,
        answer_seconds: float,
        answer_bytes: int,
        read_seconds: float,
        sockets: _Sockets,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._sockets = sockets
        self._pinned_address, self._way, self._limits = pinned_address, way, (answer_seconds, answer_bytes)
        self._read_seconds = read_seconds
        self._repeat: Callable[[], None] | None = None
        self._sent: list[bytes] = []

    def response_class(self, sock: socket.socket, *args: Any, **kwargs: Any) -> HTTPResponse:  # type: ignore[override]
        self._sockets.add(sock)
        response = HTTPResponse(sock, *args, **kwargs)
        self._incoming = _Incoming(response.fp.detach(), *self._limits, begun=partial(sock.settimeout, self._read_seconds))
        response.fp = self._reader = _Reader(self._incoming)
        return response

    def putrequest(self, *args: Any, **kwargs: Any) -> None:
        self._sent = []
        super().putrequest(*args, **kwargs)

    def send(self, data: Any) -> None:
        self._sent.append(data)
        super().send(data)

    def request(self, *args: Any, **kwargs: Any) -> None:
        self._repeat = None if self.is_closed else partial(super().request, *args, **kwargs)
        super().request(*args, **kwargs)

    def getresponse(self) -> Any:
        try:
            response = self._response()
            if self._incoming.has_ended:  # http.client takes headers that break off for whole ones
                raise IncompleteRead(b"")
        except BaseException:
            self._end_incoming()
            raise
        response.sent_bytes, response.head_bytes = b"".join(self._sent), self._reader.take_head()
        response.incoming = self._incoming
        return response

    def _end_incoming(self) -> None:
        """An answer that never began is closed by nobody else, and its socket would stay open until it is collected."""
        if incoming := getattr(self, "_incoming", None):
            incoming.close()

    def _response(self) -> Any:
        """Repeat a request once if the server closed a kept connection in the moment in which we used it (RFC 9112, section 9.3.1)."""
        try:
            return super().getresponse()
        except (RemoteDisconnected, ConnectionResetError):
            if self._repeat is None or self._incoming.has_begun or self._sockets.are_cut:
                raise
        self.close()
        self._repeat()
        return super().getresponse()

    def _new_conn(self) -> socket.socket:
        say(Step.CONNECTING)
        try:
            return connect(
                self, (self._pinned_address, self.port or self.default_port), self._way, float(self.timeout or 0), self.socket_options
            )
        finally:
            say(Step.FETCHING)


class _PinnedTlsConnection(_PinnedConnection, HTTPSConnection):
    """The same below TLS, which goes by the name."""


class _PinnedPool(HTTPConnectionPool):
    ConnectionCls = _PinnedConnection


class _PinnedTlsPool(HTTPSConnectionPool):
    ConnectionCls = _PinnedTlsConnection


class _PinnedRequest(PreparedRequest):
    """Built for one vetted address, and for one way to it."""

    address: str
    way: Way | None

    @property
    def asks_proxy(self) -> bool:
        """Whether a proxy is told the whole URL and fetches it by itself."""
        return self.way is not None and self.way.proxy.is_trusted and (self.url or "").startswith("http:")


class _PinnedAdapter(HTTPAdapter):
    """Connections kept by scheme, name, port and address: a site that moves gets a new one."""

    def __init__(self, trust: ssl.SSLContext, **options: Any) -> None:
        self._trust, self._options = trust, options
        super().__init__(pool_connections=MOST_SITES, pool_maxsize=IDLE_PER_SITE)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool_kwargs: Any) -> None:
        self.poolmanager = PoolManager(num_pools=connections)
        self.poolmanager.pool_classes_by_scheme = {"http": _PinnedPool, "https": _PinnedTlsPool}

    def get_connection_with_tls_context(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> HTTPConnectionPool:
        if not isinstance(request, _PinnedRequest):
            raise TypeError("only get_pinned() sends requests: others carry no vetted address")
        url = urlsplit(request.url or "")
        if url.scheme not in DEFAULT_PORTS or not url.hostname:
            raise InvalidURL(f"{request.url!r} is no http or https URL", request=request)
        port = url.port or DEFAULT_PORTS[url.scheme]
        key: Any = (url.scheme, url.hostname, port, request.address, request.way)
        context: dict[str, Any] = {
            "scheme": url.scheme,
            "host": url.hostname,
            "port": port,
            "maxsize": IDLE_PER_SITE,
            "ssl_context": self._trust,
        }
        context |= {"pinned_address": request.address, "way": request.way, **self._options}
        pool: HTTPConnectionPool = self.poolmanager.connection_from_pool_key(key, context)
        return pool

    def request_url(self, request: PreparedRequest, proxies: Any) -> str:
        """What stands in the request line."""
        if isinstance(request, _PinnedRequest) and request.asks_proxy:
            return str(urldefragauth(request.url or ""))
        return request.path_url

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Leave the pool alone: its context requires certificates, and has read the authorities once for all connections."""


class PinnedSession(requests.Session):
    """A session for `get_pinned` only; shared by any number of threads. Knows neither cookies, credentials nor .netrc.

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
        self.trust_env = False
        self.adapters.clear()
        trust = ssl.create_default_context(cafile=authorities or certifi.where())
        self._sockets = _Sockets()
        self._pinned = adapter = _PinnedAdapter(
            trust, answer_seconds=answer_seconds, answer_bytes=answer_bytes, read_seconds=read_seconds, sockets=self._sockets
        )
        self.mount("http://", adapter)
        self.mount("https://", adapter)

    def cut_off(self) -> None:
        """End every fetch under way, but for those that are still connecting, and begin none any more."""
        self._sockets.cut()

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
    ) -> requests.Response:
        """Fetch a canonical http or https URL from `address`, which must be vetted; the body is left to be streamed.

        `timeout` is for connecting and for the answer to begin. `way`: through a proxy, at an address that is vetted, too. The
        headers are sent as given, Host apart. Close the response, or read it to its end, to keep the connection for the next
        request. Raises requests.RequestException when the fetch fails and ValueError if `address` is no address or the URL's port
        no port.
        """
        ip_address(address)
        if self._sockets.are_cut:
            raise requests.ConnectionError("cut off")
        # Session.prepare_request and Session.send merge settings, cookies and hooks that are all empty here, which takes longer
        # than the rest of requests together, and send() prepares the next hop of every redirect.
        request = _PinnedRequest()
        request.method, request.url, request.address, request.way, request.body = method, url, address, way, body
        request.headers = CaseInsensitiveDict(headers)
        if body is not None:
            request.headers["Content-Length"] = str(len(body))
        if way is not None and request.asks_proxy and (secret := authorization(way.proxy)):
            request.headers["Proxy-Authorization"] = secret
        return self._pinned.send(request, stream=True, timeout=timeout)
