"""A client's connection as a thread sees it: it reads what the main loop has taken in, and what it
writes and the client does not take at once is held, and the main loop sends it. So a slow client
holds no thread.
"""

from __future__ import annotations

import socket
from io import BytesIO
from selectors import EVENT_WRITE, DefaultSelector
from threading import Lock
from typing import Any, BinaryIO

#: the bytes of an answer that may wait; a thread that writes more waits, as for downloads
HELD_BYTES = 4 * 2**20
#: the time for a client to take anything at all
PIECE_SECONDS = 30.0
READ_BYTES = 256 * 2**10


class ThreadConnection:
    """A socket for gunicorn that blocks no thread until HELD_BYTES wait in it."""

    def __init__(self, plain: socket.socket) -> None:
        plain.setblocking(False)
        self.plain = plain
        self._arrived = BytesIO()
        self._held = bytearray()
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def give(self, request: bytes) -> None:
        """Give the thread these bytes to read, and no more."""
        self._arrived = BytesIO(request)

    def recv(self, most: int) -> bytes:
        """The next bytes, as from a socket whose client sends no more."""
        return self._arrived.read(most)

    def take(self) -> bytes:
        """The bytes that the thread has left: the begin of the next request."""
        return self._arrived.read()

    def look(self, most: int) -> bytes:
        """The next bytes; they are still to be read."""
        begin = self._arrived.tell()
        return bytes(self._arrived.getbuffer()[begin : begin + most])

    def setblocking(self, blocks: bool) -> None:
        """The connection never blocks."""

    def settimeout(self, seconds: float | None) -> None:
        """Each has the same."""

    @property
    def held_bytes(self) -> int:
        return len(self._held)

    def send(self, data: bytes) -> int:
        self.sendall(data)
        return len(data)

    def sendall(self, data: bytes) -> None:
        """Raises OSError if the client is gone, and TimeoutError if it takes nothing."""
        with self._lock:
            self._held += data
        self.flush()
        while self.held_bytes > HELD_BYTES:
            self._wait()
            self.flush()

    def sendfile(self, file: BinaryIO, offset: int = 0, count: int | None = None) -> int:
        """Send as sockets do; a file that becomes shorter meanwhile ends the answer."""
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
        """Send what the client takes now. Return whether anything was sent. Raises OSError."""
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
