"""The resources that the fetch threads of a shift share. The granted memory for documents is
divided so that no fetch thread waits forever with a part of its need. Downloads share a rate in
KiB/s.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from crawling.web.fetch.progress import FetchStep, report_step

#: the longest wait of a document for memory, after which the URL is tried again later
DEADLINE_SECONDS = 30.0
UNLIMITED = 1 << 62
#: the seconds' worth of bytes that may come at once: a smaller value is smoother, a larger one
#: wakes threads less often
BURST_SECONDS = 1.0


@dataclass
class _Wait:
    size: int


class MemoryBudget:
    """The memory that the fetch threads of a shift share.

    A document itself takes at most a thread's share, however large it is. Further memory for
    reading is taken from the rest in one piece, and given back when the document is read. A thread
    that holds a piece never waits for another, so pieces always come back. Waits are served in
    order.

    most: the largest piece that the claim allows.
    """

    def __init__(self, *, rest: int = UNLIMITED, most: int = UNLIMITED) -> None:
        self.most = most
        self._rest, self._taken = rest, dict[int, int]()
        self._waits: deque[_Wait] = deque()
        self._changed = threading.Condition()
        self._is_ending = False

    def reserve(self, size: int) -> bool:
        """Reserve `size` bytes for the calling fetch thread, which waits for a limited time. Return
        whether they are reserved.
        """
        report_step(FetchStep.WAITING_FOR_MEMORY)
        wait, until = _Wait(size), time.monotonic() + DEADLINE_SECONDS
        with self._changed:
            self._waits.append(wait)
            try:
                is_granted = self._changed.wait_for(
                    lambda: (
                        self._is_ending or (self._waits[0] is wait and size <= self._free_bytes)
                    ),
                    until - time.monotonic(),
                )
                if not is_granted or self._is_ending:
                    return False
                self._taken[threading.get_ident()] = size
            finally:
                self._waits.remove(wait)
                self._changed.notify_all()
        report_step(FetchStep.EXTRACTING)
        return True

    def release(self) -> None:
        """Give back the piece of the calling fetch thread."""
        with self._changed:
            del self._taken[threading.get_ident()]
            self._changed.notify_all()

    @property
    def taken(self) -> int:
        """The bytes of the rest that fetch threads have reserved."""
        return sum(self._taken.copy().values())

    @property
    def _free_bytes(self) -> int:
        return self._rest - self.taken

    def set_rest(self, rest: int, most: int) -> None:
        """Set the size of the rest, beyond the fetch threads' shares, after a grant or a
        release.
        """
        with self._changed:
            self._rest, self.most = rest, most
            self._changed.notify_all()

    def shortage(self) -> int:
        """The bytes that the next document lacks; 0 if none waits."""
        with self._changed:
            return max(0, self._waits[0].size - self._free_bytes) if self._waits else 0

    @property
    def is_idle(self) -> bool:
        """Whether no piece is held or awaited."""
        return not self._taken and not self._waits

    def clear(self) -> bool:
        """Close the rest to all threads. Return False, without a change, if a thread holds or
        awaits some of it.
        """
        with self._changed:
            if not self.is_idle:
                return False
            self._rest = 0
            return True

    def end(self) -> None:
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()


class Bandwidth:
    """A token bucket shared by the fetch threads of a shift.

    A thread that takes more than the bucket has must wait afterwards.
    """

    def __init__(
        self, bytes_per_second: float, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = bytes_per_second
        self._now = now
        self._lock = threading.Lock()
        self._tokens = bytes_per_second * BURST_SECONDS
        self._filled_at = now()
        #: the number of all bytes that were counted
        self.taken = 0

    def set_rate(self, bytes_per_second: float) -> None:
        """Continue with another rate; an overdraft remains."""
        with self._lock:
            self._rate = bytes_per_second

    def take(self, count: int) -> float:
        """Count `count` bytes as received. Return the seconds for which the caller must now
        wait.
        """
        with self._lock:
            now = self._now()
            full = self._rate * BURST_SECONDS
            self._tokens = min(full, self._tokens + (now - self._filled_at) * self._rate) - count
            self._filled_at = now
            self.taken += count
            return max(0.0, -self._tokens / self._rate)
