"""Connections that go to a vetted address, whatever name they are for."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from http.client import HTTPResponse, IncompleteRead, RemoteDisconnected
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from crawling.fetchers.egress import Way, connect
from crawling.fetchers.incoming import Incoming, Reader
from crawling.fetchers.progress import say
from crawling.rules.steps import Step


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
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._pinned_address, self._way, self._limits = pinned_address, way, (answer_seconds, answer_bytes)
        self._read_seconds = read_seconds
        self._repeat: Callable[[], None] | None = None
        self._sent: list[bytes] = []

    def response_class(self, sock: socket.socket, *args: Any, **kwargs: Any) -> HTTPResponse:  # type: ignore[override]
        response = HTTPResponse(sock, *args, **kwargs)
        self._incoming = Incoming(response.fp.detach(), *self._limits, begun=partial(sock.settimeout, self._read_seconds))
        response.fp = self._reader = Reader(self._incoming)
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
            if self._repeat is None or self._incoming.has_begun:
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


class PinnedPool(HTTPConnectionPool):
    ConnectionCls = _PinnedConnection


class PinnedTlsPool(HTTPSConnectionPool):
    ConnectionCls = _PinnedTlsConnection
