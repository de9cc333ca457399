"""The web server's limits for a client before it reaches a page: time to send its request, room for
it, and a thread.

A client has REQUEST_SECONDS for a whole request, and PIECE_SECONDS to take each piece of an answer;
then its connection is closed. So no client holds one of the few threads for long, whether it is
slow or means to be. A connection takes no thread before something arrives on it, and programs have
threads of their own: a refusal waits for no page, and no page for a program.
"""

from __future__ import annotations

import io
import socket
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from selectors import EVENT_READ
from time import monotonic
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from crawlsite.middleware.program_admission import admission_of, is_of_program, program_places, seen

REQUEST_SECONDS, PIECE_SECONDS = 20.0, 30.0
#: of a body, and of one without a log-in: only log-in forms have none
MOST_BYTES, MOST_BYTES_OF_STRANGERS = 16 * 2**20, 64 * 2**10
#: threads for programs beside those that answer them: these refuse what the main loop does not
REFUSING_THREADS = 2
#: bytes of a request that show its target
LOOK_BYTES = 64
#: connections on which a request is still coming in, and until when it may
_until: dict[socket.socket, float] = {}

StartResponse = Callable[..., Any]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class RequestThreads:
    """The threads of a web process: some for pages, others for programs."""

    def __init__(self, threads: int) -> None:
        self._pages = ThreadPoolExecutor(threads, "pages")
        self._programs = ThreadPoolExecutor(program_places(threads) + REFUSING_THREADS, "programs")

    def submit(self, handle: Callable[[Any], Any], connection: Any) -> Future[Any]:
        """The first bytes decide which threads answer a request, and nothing else."""
        # The socket of a request that was read ahead is empty, and has the time-out of the answer
        # before it: a look at it would hold up the main loop for so long.
        ahead = connection.parser.unreader.buf.getvalue() if connection.initialized else b""
        is_program = is_of_program(ahead[:LOOK_BYTES] or seen(connection.sock, LOOK_BYTES))
        return (self._programs if is_program else self._pages).submit(handle, connection)

    def shutdown(self, *, wait: bool = True) -> None:
        for pool in (self._pages, self._programs):
            pool.shutdown(wait=wait)


class DeadlineWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's worker with threads, which by itself waits for a request for ever, and has the
    same threads for all.
    """

    def get_thread_pool(self) -> RequestThreads:
        return RequestThreads(self.cfg.threads)

    def on_client_socket_readable(self, conn: Any, client: socket.socket) -> None:
        if not self._refuses(conn, self.keepalived_conns):
            super().on_client_socket_readable(conn, client)

    def on_pending_socket_readable(self, conn: Any, client: socket.socket) -> None:
        if not self._refuses(conn, self.pending_conns):
            super().on_pending_socket_readable(conn, client)

    def _refuses(self, conn: Any, waiting: deque[Any]) -> bool:
        """Whether the request was a program's and has been refused; its connection then waits for
        the next as long as after any answer. waiting: what the connection is in, oldest first.
        """
        if not (self.alive and admission_of(self.cfg.threads).refuse(conn.sock)):
            return False
        waiting.remove(conn)
        conn.set_timeout()
        waiting.append(conn)
        return True

    def enqueue_req(self, conn: Any) -> None:
        """A new connection first waits for its request, for as long as one that is kept."""
        if conn.initialized or conn.data_ready:
            super().enqueue_req(conn)
            return
        conn.sock.setblocking(False)
        conn.set_timeout()
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_pending_socket_readable, conn))

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
