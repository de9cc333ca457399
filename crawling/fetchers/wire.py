"""A connection to exactly the address that was vetted, and the answers that come over it, byte by byte."""

from __future__ import annotations

import io
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, IncompleteRead, RemoteDisconnected
from typing import IO, Any

from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError, ProtocolError, SSLError
from urllib3.exceptions import TimeoutError as SilentServer
from urllib3.util import wait_for_read

from crawling.fetchers.egress import Way, connect
from crawling.fetchers.heads import Answer
from crawling.fetchers.progress import say
from crawling.fetchers.sockets import Sockets
from crawling.rules.addresses import Address
from crawling.rules.steps import Step

#: as much of an answer is taken at a time: most pages come whole with their head
READ_BYTES = 32 * 1024
PIECE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """answer_seconds: the longest to wait for one whole answer; answer_bytes: the most to read of it, headers and compression included;
    read_seconds: the longest between two pieces."""

    answer_seconds: float
    answer_bytes: int
    read_seconds: float


class _Incoming(io.RawIOBase):
    """What a server sends in answer to one request, within the limits. What we do between two pieces is not the server's fault.

    `count` is what has come so far, as it came.
    """

    def __init__(self, sock: socket.socket, limits: Limits) -> None:
        self._sock, self._limits, self._waited, self.count = sock, limits, 0.0, 0
        self.has_ended = self.is_shut = False

    def makefile(self, mode: str) -> IO[bytes]:
        """What http.client asks a socket for."""
        return io.BufferedReader(self, READ_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        limits = self._limits
        if self.is_shut:
            return 0
        if self._waited > limits.answer_seconds:
            raise TimeoutError(f"the whole answer took longer than {limits.answer_seconds:g} s")
        if self.count > limits.answer_bytes:
            raise OSError("the answer goes on without end")
        asked_at = time.monotonic()
        try:
            count = self._sock.recv_into(buffer)
        except TimeoutError as error:
            raise TimeoutError(f"the server sent nothing for {self._sock.gettimeout():g} s") from error
        self._waited += time.monotonic() - asked_at
        if count and not self.count:
            self._sock.settimeout(limits.read_seconds)
        self.count += count
        self.has_ended = not count
        return count


class Incoming(Answer):
    """The answer to one request; `sent_bytes` is the request. Whoever has it last closes it.

    Everything that goes wrong in the middle of it is one of urllib3's HTTPErrors.
    """

    def __init__(self, source: _Incoming, sent_bytes: bytes) -> None:
        super().__init__(source)  # type: ignore[arg-type]
        self._source, self.sent_bytes = source, sent_bytes
        self._is_at_end = self._has_surplus = False

    def begin(self) -> None:
        super().begin()
        if self._source.has_ended and not self.head_bytes.endswith((b"\r\n\r\n", b"\n\n")):
            raise IncompleteRead(b"")  # http.client takes headers that break off for whole ones

    @property
    def count(self) -> int:
        """Bytes that have come, head and encoding included."""
        return self._source.count

    def finish(self) -> bool:
        """Close it; whether the connection may be used again: the answer was read to its end, and nothing had come behind it that would be
        taken for the next."""
        is_whole = self._is_at_end or (self.length == 0 and not self.chunked)
        self.close()
        return is_whole and not self.will_close and not self._has_surplus

    def _close_conn(self) -> None:
        """http.client's, which it calls behind the last chunk, too. What had come by then and belongs to no answer is in the buffer."""
        self._source.is_shut = True
        self._has_surplus = bool(self.fp.peek(1))
        super()._close_conn()  # type: ignore[misc]

    def stream(self, payload: IO[bytes] | None = None) -> Iterator[bytes]:
        """The body, decoded; `payload` gets it as it came, but for the transfer coding."""
        if "Content-Encoding" not in self.headers:
            while piece := self.take(PIECE_BYTES):
                if payload is not None:
                    payload.write(piece)
                yield piece
            return
        encoded: Any = _Encoded(self, payload)
        encoding = {"Content-Encoding": self.headers["Content-Encoding"]}
        yield from HTTPResponse(encoded, encoding, preload_content=False).stream(PIECE_BYTES, decode_content=True)

    def take(self, most: int) -> bytes:
        """The next piece of the body as it is encoded; b"" at its end."""
        with_what_is_left = self.length
        try:
            piece = self.read1(most) if with_what_is_left != 0 else b""
        except (HTTPException, OSError) as error:
            raise http_error(error) from error
        if not piece and with_what_is_left:
            raise ProtocolError(f"the answer broke off {with_what_is_left:,} bytes before its end")
        self._is_at_end = not piece
        return piece


class _Encoded:
    """What urllib3 decodes, copied on its way: it knows how servers get gzip and deflate wrong, and how to stop a bomb."""

    closed = False

    def __init__(self, answer: Incoming, payload: IO[bytes] | None) -> None:
        self._answer, self._payload = answer, payload

    def read(self, most: int) -> bytes:
        piece = self._answer.take(most)
        if self._payload is not None:
            self._payload.write(piece)
        return piece

    def close(self) -> None:
        self.closed = True


class Connection:
    """To a site at an address, by a way. For one request at a time."""

    def __init__(self, site: Address, address: str, way: Way | None, limits: Limits, trust: ssl.SSLContext, sockets: Sockets) -> None:
        self._site, self._address, self._way, self._limits = site, address, way, limits
        self._trust, self._sockets = trust, sockets
        self._sock: socket.socket | None = None

    def ask(self, request: bytes, *, connecting: float, answering: float) -> Incoming:
        """Send a request and read the head of its answer. Raises urllib3's HTTPError.

        A request is repeated once if the server closed a kept connection in the moment in which we used it (RFC 9112, section 9.3.1).
        """
        is_kept = self._sock is not None
        try:
            if is_kept:
                try:
                    return self._ask(request, answering)
                except (RemoteDisconnected, ConnectionResetError):
                    if self._source.count or self._sockets.are_cut:
                        raise
                    self.close()
            self._open(connecting)
            return self._ask(request, answering)
        except BaseException as error:
            self.close()
            if isinstance(error, (HTTPException, OSError)):
                raise http_error(error) from error
            raise

    def _ask(self, request: bytes, answering: float) -> Incoming:
        assert self._sock is not None
        self._sock.settimeout(answering)
        source = self._source = _Incoming(self._sock, self._limits)
        with suppress(BrokenPipeError):  # it may have answered before it hung up
            self._sock.sendall(request)
        answer = Incoming(source, request)
        try:
            answer.begin()
        except BaseException:
            answer.close()
            raise
        return answer

    def _open(self, seconds: float) -> None:
        say(Step.CONNECTING)
        try:
            self._sock = connect(self._site, self._address, self._way, seconds)
            if self._site.scheme == "https":
                self._sock = self._secured(self._sock)
        finally:
            say(Step.FETCHING)
        self._sockets.add(self._sock)

    def _secured(self, plain: socket.socket) -> socket.socket:
        name = self._site.hostname.strip("[]").rstrip(".")
        try:
            return self._trust.wrap_socket(plain, server_hostname=name)
        except UnicodeError as error:
            raise SSLError(f"no certificate can have the name {name}") from error

    @property
    def is_quiet(self) -> bool:
        """Whether it is open, and nothing has come that nobody asked for, nor the end."""
        if isinstance(self._sock, ssl.SSLSocket) and self._sock.pending():
            return False  # of a record that was read in part, the socket below says nothing
        return self._sock is not None and not wait_for_read(self._sock, timeout=0.0)

    def close(self) -> None:
        if self._sock:
            self._sock.close()
        self._sock = None


def http_error(error: HTTPException | OSError) -> HTTPError:
    """What went wrong with an exchange, as one of urllib3's errors."""
    if isinstance(error, TimeoutError):
        return SilentServer(f"{error}")
    if isinstance(error, ssl.SSLError):
        return SSLError(error)
    return ProtocolError(f"the connection broke: {error!r}")
