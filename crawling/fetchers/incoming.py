"""What a server sends: bounded in time and bytes, and with the head of the answer kept as it came."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import Any


class Incoming(io.RawIOBase):
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


class Reader(io.BufferedReader):
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
