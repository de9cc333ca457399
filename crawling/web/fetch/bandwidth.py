"""Keeps a shift's downloads within the KiB/s it was granted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

#: how much of a second's worth may come at once; smaller is smoother, larger wakes less often
BURST_SECONDS = 1.0


class Bandwidth:
    """A token bucket shared by the fetch threads of a shift.

    Taking more than it has is followed by a wait.
    """

    def __init__(
        self, bytes_per_second: float, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = bytes_per_second
        self._now = now
        self._lock = threading.Lock()
        self._tokens = bytes_per_second * BURST_SECONDS
        self._filled_at = now()
        #: bytes that were counted in all
        self.taken = 0

    def set_rate(self, bytes_per_second: float) -> None:
        """Go on with another rate; what was taken too much is still paid for."""
        with self._lock:
            self._rate = bytes_per_second

    def take(self, count: int) -> float:
        """Count `count` bytes as received; returns the seconds that the caller must now wait."""
        with self._lock:
            now = self._now()
            full = self._rate * BURST_SECONDS
            self._tokens = min(full, self._tokens + (now - self._filled_at) * self._rate) - count
            self._filled_at = now
            self.taken += count
            return max(0.0, -self._tokens / self._rate)
