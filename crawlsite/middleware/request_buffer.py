"""What the web server grants a client before a page is asked for: time to send its request, and
room for it.

A client has REQUEST_SECONDS for a whole request, and PIECE_SECONDS to take each piece of an answer;
then its connection is closed. So no client holds one of the few threads for long, whether it is
slow or means to be.
"""

from __future__ import annotations

import io
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus
from time import monotonic
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

REQUEST_SECONDS, PIECE_SECONDS = 20.0, 30.0
#: of a body, and of one from a client that nobody knows yet: it only logs in
MOST_BYTES, MOST_BYTES_OF_STRANGERS = 16 * 2**20, 64 * 2**10
#: connections on which a request is still coming in, and until when it may
_until: dict[socket.socket, float] = {}

StartResponse = Callable[..., Any]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class DeadlineWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's worker with threads, which by itself waits for a request for ever."""

    def handle(self, conn: Any) -> Any:
        _until[conn.sock] = monotonic() + REQUEST_SECONDS
        try:
            return super().handle(conn)
        finally:
            _until.pop(conn.sock, None)

    def notify(self) -> None:
        """gunicorn's main loop comes by here every second or so."""
        super().notify()
        now = monotonic()
        for connection, until in list(_until.items()):
            if until < now:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class RequestBufferMiddleware:
    """WSGI middleware: takes a request in as a whole before anything else is done with it, or
    refuses it by its stated length.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > most_bytes(environ):
            return _too_large(start_response)
        body = environ["wsgi.input"].read(length)
        environ["wsgi.input"] = io.BytesIO(body)
        connection = environ.get("gunicorn.socket")
        if connection is not None:
            _until.pop(connection, None)
            connection.settimeout(PIECE_SECONDS)
        return self.application(environ, start_response)


def most_bytes(environ: dict[str, Any]) -> int:
    is_known = "HTTP_AUTHORIZATION" in environ or "sessionid=" in environ.get("HTTP_COOKIE", "")
    return MOST_BYTES if is_known else MOST_BYTES_OF_STRANGERS


def _too_large(start_response: StartResponse) -> Iterable[bytes]:
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    start_response(f"{status.value} {status.phrase}", [("Content-Type", "text/plain")])
    return [b"The body is too big; split it over several requests.\n"]
