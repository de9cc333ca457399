"""Connections to exactly the address that was vetted, which keep the bytes of each exchange as they went over the wire."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable
from functools import partial
from http.client import HTTPResponse, IncompleteRead, RemoteDisconnected
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from crawling.fetchers.egress import Way, connect
from crawling.fetchers.heads import Answer
from crawling.fetchers.progress import say
from crawling.fetchers.sockets import Sockets
from crawling.rules.steps import Step

#: as much of an answer is taken at a time: most pages come whole with their head
READ_BYTES = 32 * 1024


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
        super().__init__(source, READ_BYTES)
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


class PinnedConnection(HTTPConnection):
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
        sockets: Sockets,
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
        response = Answer(sock, *args, **kwargs)
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


class PinnedTlsConnection(PinnedConnection, HTTPSConnection):
    """The same below TLS, which goes by the name."""


class PinnedPool(HTTPConnectionPool):
    ConnectionCls = PinnedConnection


class PinnedTlsPool(HTTPSConnectionPool):
    ConnectionCls = PinnedTlsConnection
