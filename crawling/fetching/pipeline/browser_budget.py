"""The browser pages that the fetch threads of a shift may have open."""

from __future__ import annotations

import threading
import time
from collections import deque


class BrowserBudget:
    """Each fetch thread has one page at most, so a thread that waits for a page holds none. Waits
    are served in order.

    each: the MiB of a page; it may be changed for pages that are opened later.
    """

    def __init__(self, each: int) -> None:
        self.each = each
        self._pages = self._mebibytes = 0
        #: the MiB of each open page, by the thread that has it
        self._open: dict[int, int] = {}
        self._waits: deque[object] = deque()
        self._changed = threading.Condition()
        self._is_ending = False

    def take(self, seconds: float) -> bool:
        """Open a page for the calling thread, which waits for so long at most. Return whether it
        may.
        """
        wait, until = object(), time.monotonic() + seconds
        with self._changed:
            self._waits.append(wait)
            try:
                is_free = self._changed.wait_for(
                    lambda: self._is_ending or (self._waits[0] is wait and self._has_free_page()),
                    until - time.monotonic(),
                )
                if not is_free or self._is_ending:
                    return False
                self._open[threading.get_ident()] = self.each
                return True
            finally:
                self._waits.remove(wait)
                self._changed.notify_all()

    def give_back(self) -> None:
        """The page of the calling thread is closed."""
        with self._changed:
            del self._open[threading.get_ident()]
            self._changed.notify_all()

    def _has_free_page(self) -> bool:
        return (
            len(self._open) < self._pages
            and sum(self._open.values()) + self.each <= self._mebibytes
        )

    @property
    def open_pages(self) -> int:
        return len(self._open)

    @property
    def open_mebibytes(self) -> int:
        """The MiB that the open pages may have."""
        return sum(self._open.copy().values())

    @property
    def is_short(self) -> bool:
        """Whether a thread waits that no free page is there for."""
        with self._changed:
            return bool(self._waits) and not self._has_free_page()

    def set_held(self, pages: int, mebibytes: int) -> None:
        """Set the units of the shift, after a grant or a release."""
        with self._changed:
            self._pages, self._mebibytes = pages, mebibytes
            self._changed.notify_all()

    def withdraw_spare(self) -> tuple[int, int]:
        """Close the pages and MiB that no open page has to all threads, and return their numbers.
        (0, 0), without a change, while a thread waits.
        """
        with self._changed:
            if self._waits:
                return 0, 0
            pages, mebibytes = len(self._open), sum(self._open.values())
            spare = self._pages - pages, self._mebibytes - mebibytes
            self._pages, self._mebibytes = pages, mebibytes
            return spare

    def end(self) -> None:
        """Let no thread wait any longer."""
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
