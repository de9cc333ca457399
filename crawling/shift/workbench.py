"""The hosts that a shift has leased and their claimed URLs, in the order in which they fall due.

A host is handed to one toe at a time, so it never sees two requests at once. All times are monotonic seconds.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable

from crawling.processors.visit import Visit

#: a host that rests for longer is not kept on the workbench: its lease and its URLs are better given back
LONG_REST_SECONDS = 15.0


class Workbench:
    """Shared by the toes, which take visits, and the shift, which fills them up and takes drained ones away."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Visit]] = []
        self._ticket = 0
        self._drained: list[Visit] = []
        self._out = 0
        self._closed = False
        self._watch: object = None

    def put(self, visit: Visit) -> None:
        """Add a visit, or put one back after a fetch; one without URLs, or at the beginning of a long rest, counts as drained."""
        with self._changed:
            self._put(visit)

    def take(self, is_wanted: Callable[[], bool]) -> Visit | None:
        """Wait for the next visit that is due. None: the workbench is closed, or the toe is not wanted any more.

        One toe keeps watch for the first that falls due, and wakes another when it takes it: if all woke each time, sixty-four toes
        would spend as much on that as on their pages.
        """
        with self._changed:
            while not self._closed and is_wanted():
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is not None and wait <= 0:
                    self._out += 1
                    visit = heapq.heappop(self._due)[2]
                    self._hand_on_the_watch()
                    return visit
                if wait is None or self._watch:
                    self._changed.wait()
                    continue
                self._watch = mine = object()
                self._changed.wait(wait)
                if self._watch is mine:
                    self._watch = None
            self._hand_on_the_watch()
        return None

    def _hand_on_the_watch(self) -> None:
        if self._due and not self._watch:
            self._changed.notify()

    def give_back(self, visit: Visit) -> None:
        """Return a visit that `take` handed out."""
        with self._changed:
            self._out -= 1
            self._put(visit)

    def _put(self, visit: Visit) -> None:
        if visit.urls and visit.free_at - time.monotonic() < LONG_REST_SECONDS:
            self._ticket += 1
            heapq.heappush(self._due, (visit.free_at, self._ticket, visit))
            if self._due[0][2] is visit:
                self._watch = None  # whoever keeps watch does so for a later one
                self._changed.notify()
        else:
            self._drained.append(visit)

    def drained(self) -> list[Visit]:
        """Take away the visits that have no URLs left or rest for long."""
        with self._changed:
            visits, self._drained = self._drained, []
        return visits

    def overdue(self) -> int:
        """How many visits could be fetched from at once if a toe were free."""
        now = time.monotonic()
        with self._changed:
            return sum(1 for free_at, _, _ in self._due if free_at <= now)

    def is_idle(self) -> bool:
        """Whether no toe has a visit and none is due."""
        with self._changed:
            return not self._out and not (self._due and self._due[0][0] <= time.monotonic())

    def wake(self) -> None:
        """Let every waiting toe look again whether it is still wanted."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Wake every toe and hand out nothing more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
