"""A client's connection as a thread sees it. The thread reads bytes that the main loop has
received. Written bytes that the client does not accept at once are held, and the main loop sends
them. So a slow client holds no thread.
"""

from __future__ import annotations

import socket
from io import BytesIO
from selectors import EVENT_WRITE, DefaultSelector
from threading import Lock
from typing import Any, BinaryIO

#: the bytes of an answer that may be held; a thread that writes more has to wait, as for downloads
HELD_BYTES = 4 * 2**20
#: the time within which a client must accept some bytes
PIECE_SECONDS = 30.0
READ_BYTES = 256 * 2**10


class ThreadConnection:
    """A socket for gunicorn that holds up to HELD_BYTES bytes. A thread that writes no more than
    that is not blocked.
    """

    def __init__(self, plain: socket.socket) -> None:
        plain.setblocking(False)
        self.plain = plain
        self._arrived = BytesIO()
        self._held = bytearray()
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def set_unread(self, request: bytes) -> None:
        """Let the thread read these bytes, and no further ones."""
        self._arrived = BytesIO(request)

    def recv(self, most: int) -> bytes:
        """The next bytes. The end of the given bytes is read like the end of a stream."""
        return self._arrived.read(most)

    def take_unread(self) -> bytes:
        """Remove and return the bytes that the thread has not read: the beginning of the next
        request.
        """
        return self._arrived.read()

    def peek(self, most: int) -> bytes:
        """The next bytes, without consuming them."""
        begin = self._arrived.tell()
        return bytes(self._arrived.getbuffer()[begin : begin + most])

    def setblocking(self, blocks: bool) -> None:
        """Do nothing, since the connection never blocks."""

    def settimeout(self, seconds: float | None) -> None:
        """Do nothing, since all connections have the same time limit."""

    @property
    def held_bytes(self) -> int:
        return len(self._held)

    def send(self, data: bytes) -> int:
        self.sendall(data)
        return len(data)

    def sendall(self, data: bytes) -> None:
        """Send all bytes, or hold them. Raises OSError if the client has left, and TimeoutError if
        it accepts nothing.
        """
        with self._lock:
            self._held += data
        self.flush()
        while self.held_bytes > HELD_BYTES:
            self._wait()
            self.flush()

    def sendfile(self, file: BinaryIO, offset: int = 0, count: int | None = None) -> int:
        """Send a file as sockets do. If the file becomes shorter meanwhile, the answer ends."""
        file.seek(offset)
        sent = 0
        while count is None or sent < count:
            piece = file.read(READ_BYTES if count is None else min(READ_BYTES, count - sent))
            if not piece:
                break
            self.sendall(piece)
            sent += len(piece)
        return sent

    def flush(self) -> bool:
        """Send as many of the held bytes as the client accepts now. Return whether any were sent.
        Raises OSError.
        """
        before = self.held_bytes
        with self._lock:
            while self._held:
                try:
                    sent = self.plain.send(memoryview(self._held)[:READ_BYTES])
                except BlockingIOError:
                    break
                del self._held[:sent]
        return self.held_bytes < before

    def _wait(self) -> None:
        with DefaultSelector() as selector:
            selector.register(self.plain, EVENT_WRITE)
            if not selector.select(PIECE_SECONDS):
                raise TimeoutError("the client takes nothing")
