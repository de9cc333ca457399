"""The web server's limits for a client before its request reaches a page: time for sending it,
memory for it, and a thread.

The main loop receives a request as a whole, and sends the rest of an answer, so a slow client holds
none of the few threads. A client has REQUEST_SECONDS for a whole request, and PIECE_SECONDS to
accept some of an answer. If clients use too much memory, the client that has used its part for the
longest time loses its connection. Programs have separate threads, so that no refusal waits for a
page, and no page for a program.
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
from selectors import EVENT_READ, EVENT_WRITE
from time import monotonic
from typing import Any

from gunicorn.http.errors import ParseException
from gunicorn.workers.gthread import ThreadWorker

from crawlsite.middleware.program_admission import (
    admission_of,
    is_request_of_program,
    program_places,
)
from crawlsite.middleware.thread_connection import PIECE_SECONDS, ThreadConnection
from crawlsite.middleware.whole_request import (
    Arrival,
    IncomingRequest,
    body_limit,
)

REQUEST_SECONDS = 20.0
#: the time that a client has to read the answer before its connection is closed
LINGER_SECONDS = 2.0
#: the memory for incoming requests and waiting answers, in total
MOST_ROOM_BYTES = 128 * 2**20
#: the bytes that are read at a time
READ_BYTES = 256 * 2**10
#: threads for programs besides those that answer programs; these refuse the requests that the main
#: loop does not refuse
REFUSING_THREADS = 2
#: the number of a request's bytes that show its target
LOOK_BYTES = 64
#: the interval at which the main loop looks for clients whose time is over
LOOK_SECONDS = 0.25
REFUSALS = {
    Arrival.LONG_HEAD: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    Arrival.LONG_BODY: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
}
SENTENCES = {
    HTTPStatus.BAD_REQUEST: "The request cannot be read: {}.",
    HTTPStatus.NOT_IMPLEMENTED: "A body can be sent in chunks, with no other transfer coding.",
    HTTPStatus.REQUEST_TIMEOUT: "The request did not come in as a whole.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too big; split it over several requests.",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: "The head is too big.",
}
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

StartResponse = Callable[..., Any]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class RequestThreads:
    """The threads of a web process: some for pages, and others for programs."""

    def __init__(self, threads: int) -> None:
        self._pages = ThreadPoolExecutor(threads, "pages")
        self._programs = ThreadPoolExecutor(program_places(threads) + REFUSING_THREADS, "programs")

    def submit(self, handle: Callable[[Any], Any], connection: Any) -> Future[Any]:
        """Give a request to its threads. Only the first bytes decide which threads answer it."""
        is_program = is_request_of_program(connection.sock.peek(LOOK_BYTES))
        return (self._programs if is_program else self._pages).submit(handle, connection)

    def shutdown(self, *, wait: bool = True) -> None:
        for pool in (self._pages, self._programs):
            pool.shutdown(wait=wait)


class DeadlineWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's worker with threads. On its own, it would let a thread wait for each request and
    answer, and use the same threads for all.

    gunicorn's connections are in one of these: `pending_conns` before their first request,
    `keepalived_conns` between two, `_coming`, a thread, `_leaving`, and `_closing`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        #: incoming requests, the oldest first
        self._coming: dict[Any, IncomingRequest] = {}
        #: outgoing answers, the oldest first: the thread's result, and the time by which the client
        #: has to accept a piece
        self._leaving: dict[Any, tuple[Future[Any], float]] = {}
        self._closing: dict[Any, float] = {}
        self._coming_bytes = 0
        self._looks_at = 0.0

    def get_thread_pool(self) -> RequestThreads:
        return RequestThreads(self.cfg.threads)

    def accept(self, listener: socket.socket) -> None:
        super().accept(listener)
        if self.nr_conns >= self.worker_connections:
            silent = self.pending_conns if len(self.pending_conns) > 1 else ()
            waiting = (self._coming, self._closing, self._leaving, self.keepalived_conns)
            self._drop_oldest((silent, *waiting))

    def on_client_socket_readable(self, conn: Any, client: socket.socket) -> None:
        if not self._refuse_if_full(conn, self.keepalived_conns):
            super().on_client_socket_readable(conn, client)

    def on_pending_socket_readable(self, conn: Any, client: socket.socket) -> None:
        if not self._refuse_if_full(conn, self.pending_conns):
            super().on_pending_socket_readable(conn, client)

    def _refuse_if_full(self, conn: Any, waiting: deque[Any]) -> bool:
        """Refuse a program's request if no place is free. Return whether it was refused; its
        connection then waits for the next request, as after any answer. waiting: the queue that has
        the connection, the oldest first.
        """
        if not (self.alive and admission_of(self.cfg.threads).refuse(conn.sock.plain)):
            return False
        waiting.remove(conn)
        conn.set_timeout()
        waiting.append(conn)
        return True

    def enqueue_req(self, conn: Any) -> None:
        """Wait for a request, or for the rest of it. A new connection may take as long for its
        first bytes as a kept one.
        """
        if not (conn.initialized or conn.data_ready):
            conn.sock = ThreadConnection(conn.sock)
            conn.set_timeout()
            self.pending_conns.append(conn)
            self.poller.register(
                conn.sock, EVENT_READ, partial(self.on_pending_socket_readable, conn)
            )
            return
        coming = self._coming[conn] = IncomingRequest(monotonic() + REQUEST_SECONDS)
        if conn.parser:  # bytes that were sent after the previous request
            coming.text += conn.parser.unreader.take_buffered() + conn.sock.take_unread()
            self._coming_bytes += len(coming.text)
        self.poller.register(conn.sock, EVENT_READ, partial(self._on_bytes_received, conn))
        if coming.text:
            self._start_if_whole(conn, coming)
        else:
            self._on_bytes_received(conn, conn.sock)

    def _on_bytes_received(self, conn: Any, _: Any) -> None:
        coming = self._coming[conn]
        try:
            piece = conn.sock.plain.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self._drop(conn)
            return
        coming.text += piece
        self._coming_bytes += len(piece)
        self._start_if_whole(conn, coming)
        if self._coming_bytes > MOST_ROOM_BYTES:
            large = (one for one, it in self._coming.items() if len(it.text) > READ_BYTES)
            # not this connection, which a thread may have by now
            self._drop(next(large, next(iter(self._coming))))

    def _start_if_whole(self, conn: Any, coming: IncomingRequest) -> None:
        arrival = coming.arrival()
        if arrival is Arrival.PART:
            if coming.waits:
                coming.waits = False
                self._send(conn, CONTINUE)
        elif arrival in REFUSALS:
            self._refuse(conn, REFUSALS[arrival])
        else:
            self._forget(conn)
            conn.is_whole = arrival is Arrival.WHOLE
            conn.sock.set_unread(bytes(coming.text))
            super().enqueue_req(conn)

    def _refuse(self, conn: Any, status: HTTPStatus) -> None:
        text = f"{SENTENCES[status]}\n"
        lines = (
            f"HTTP/1.1 {status.value} {status.phrase}",
            "Content-Type: text/plain",
            f"Content-Length: {len(text)}",
            "Connection: close",
            "",
            text,
        )
        self._send(conn, "\r\n".join(lines).encode())
        self._close(conn)

    def _send(self, conn: Any, line: bytes) -> None:
        with suppress(OSError):  # the client has left, or reads nothing
            conn.sock.plain.send(line)

    def handle_request(self, req: Any, conn: Any) -> Any:
        # the main loop has sent `100 Continue` already, if the client waits for it
        req._expected_100_continue = False
        if not conn.is_whole:
            req.force_close()
        return super().handle_request(req, conn)

    def finish_request(self, conn: Any, fs: Future[Any]) -> None:
        """Send, in the main loop after the thread, the bytes that the client has not accepted
        yet.
        """
        if conn.sock.held_bytes and conn.sock.fileno() >= 0:
            self._leaving[conn] = fs, monotonic() + PIECE_SECONDS
            self.poller.register(conn.sock, EVENT_WRITE, partial(self._on_writable, conn))
            if sum(one.sock.held_bytes for one in self._leaving) > MOST_ROOM_BYTES:
                self._drop_oldest((self._leaving,))
        elif not fs.cancelled() and not fs.exception() and fs.result():
            if conn.sock.peek(1):
                self.enqueue_req(conn)  # a further request was sent after this one
            else:
                super().finish_request(conn, fs)
        else:
            self._close(conn)

    def _on_writable(self, conn: Any, _: Any) -> None:
        fs, _ = self._leaving[conn]
        try:
            if conn.sock.flush():
                self._leaving[conn] = fs, monotonic() + PIECE_SECONDS
        except OSError:
            self._drop(conn)
            return
        if not conn.sock.held_bytes:
            self._forget(conn)
            self.finish_request(conn, fs)

    def _close(self, conn: Any) -> None:
        """Let the client read the answer first, since closing while more bytes arrive would cut off
        the answer (RFC 9112, 9.6).
        """
        self._forget(conn)
        try:
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._drop(conn)
            return
        self._closing[conn] = monotonic() + LINGER_SECONDS
        self.poller.register(conn.sock, EVENT_READ, partial(self._on_end_received, conn))

    def _on_end_received(self, conn: Any, _: Any) -> None:
        try:
            more = conn.sock.plain.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        if not more:
            self._drop(conn)

    def _forget(self, conn: Any) -> None:
        if coming := self._coming.pop(conn, None):
            self._coming_bytes -= len(coming.text)
        self._leaving.pop(conn, None)
        self._closing.pop(conn, None)
        with suppress(KeyError, ValueError):  # the connection waits for nothing, or is closed
            self.poller.unregister(conn.sock)

    def _drop(self, conn: Any) -> None:
        self._forget(conn)
        for waiting in (self.pending_conns, self.keepalived_conns):
            with suppress(ValueError):
                waiting.remove(conn)
        self.nr_conns -= 1
        conn.close()

    def _drop_oldest(self, places: Iterable[Iterable[Any]]) -> None:
        """Drop the client that has used its memory for the longest time."""
        conn = next((next(iter(place), None) for place in places if place), None)
        if conn:
            self._drop(conn)

    def notify(self) -> None:
        """gunicorn's main loop calls this about every second."""
        super().notify()
        now = monotonic()
        if now < self._looks_at:
            return
        self._looks_at = now + LOOK_SECONDS
        for conn, coming in list(self._coming.items()):
            if coming.until < now:
                self._refuse(conn, HTTPStatus.REQUEST_TIMEOUT)
        untils = [(conn, until) for conn, (_, until) in self._leaving.items()]
        for conn, until in [*untils, *self._closing.items()]:
            if until < now:
                self._drop(conn)


class RequestBufferMiddleware:
    """WSGI middleware: receives a request as a whole before it is passed on, or refuses it. A
    chunked body is passed on with a stated length.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("SERVER_PROTOCOL") == "HTTP/1.1" and "HTTP_HOST" not in environ:
            # RFC 9112, 3.2
            return _refusing_answer(start_response, HTTPStatus.BAD_REQUEST, "it has no Host")
        most = body_limit(
            "HTTP_AUTHORIZATION" in environ or "sessionid=" in environ.get("HTTP_COOKIE", "")
        )
        coding = environ.pop("HTTP_TRANSFER_ENCODING", "")
        is_chunked = coding.lower() == "chunked"
        if coding and not is_chunked:
            return _refusing_answer(start_response, HTTPStatus.NOT_IMPLEMENTED)
        length = most + 1 if is_chunked else int(environ.get("CONTENT_LENGTH") or 0)
        if length > most and not is_chunked:
            return _refusing_answer(start_response, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            body = environ["wsgi.input"].read(length)
        except (OSError, ParseException) as error:
            return _refusing_answer(start_response, HTTPStatus.BAD_REQUEST, str(error))
        if len(body) > most:
            return _refusing_answer(start_response, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if is_chunked:
            environ["CONTENT_LENGTH"] = str(len(body))
        elif len(body) < length:
            return _refusing_answer(
                start_response, HTTPStatus.BAD_REQUEST, "a part of the body is missing"
            )
        environ["wsgi.input"] = io.BytesIO(body)
        return self.application(environ, start_response)


def _refusing_answer(
    start_response: StartResponse, status: HTTPStatus, reason: str = ""
) -> Iterable[bytes]:
    start_response(f"{status.value} {status.phrase}", [("Content-Type", "text/plain")])
    return [f"{SENTENCES[status].format(reason)}\n".encode()]
