"""The hosts that a shift has leased and their claimed URLs, in the order in which they fall due.

A host is handed to one fetch thread at a time, so it never gets two requests at once. The fetch
thread gives the host back once it has received the answer, before it parses the document, so
another request may be sent meanwhile. A host that has kept a fetch thread for long is handed out
only while no other is due. All times are monotonic seconds.
"""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections.abc import Callable, Collection

from crawling.fetching.pipeline.visit import Visit

#: a host that rests for longer does not stay on the workbench: its lease and its URLs are better
#: given back
LONG_REST_SECONDS = 15.0
#: a host with this many documents that are still being parsed gets no further request
MOST_UNREAD = 4


class Workbench:
    """The workbench, shared by the fetch threads, which take visits, and the shift, which adds URLs
    and takes drained visits away.
    """

    def __init__(self) -> None:
        lock = threading.RLock()
        self._changed, self._fell_idle = threading.Condition(lock), threading.Condition(lock)
        self._due: list[tuple[float, int, Visit]] = []
        self._aside: list[tuple[float, int, Visit]] = []
        self._ticket = 0
        self._drained: list[Visit] = []
        self._parked: set[Visit] = set()
        self._out = self._unread = 0
        self._closed = False
        self._watch: object = None

    def put(self, visit: Visit) -> None:
        """Add a visit, or put it back after a fetch. A visit without URLs, or at the beginning of a
        long rest, counts as drained.
        """
        with self._changed:
            self._add(visit)

    def take(
        self,
        is_wanted: Callable[[], bool],
        *,
        back: Visit | None = None,
        is_unread: bool = False,
    ) -> Visit | None:
        """Wait for the next visit that is due.

        Return None if the workbench is closed or the fetch thread is no longer wanted. back: the
        visit that the fetch thread took before, which it gives back first. If that visit is due at
        once, no other fetch thread is woken for it. is_unread: the fetch thread still has to read a
        document of that visit, until `has_read`; so it does not wait, and None may also mean that
        no visit is due.

        One fetch thread keeps watch for the first that falls due, and wakes another when it takes
        it: if all woke each time, sixty-four fetch threads would spend as much time on waking as on
        pages.
        """
        with self._changed:
            if back:
                self._return(back, is_unread=is_unread)
                self._put_back(back)
                self._tell_if_idle()
            while not self._closed and is_wanted():
                now = time.monotonic()
                if visit := self._pop_due_visit(now):
                    self._out += 1
                    self._hand_on_the_watch()
                    return visit
                if is_unread:
                    break
                if self._watch or not self._waiting():
                    self._changed.wait()
                    continue
                self._watch = mine = object()
                self._changed.wait(self._first_due() - now)
                if self._watch is mine:
                    self._watch = None
            self._hand_on_the_watch()
        return None

    def _hand_on_the_watch(self) -> None:
        if self._waiting() and not self._watch:
            self._changed.notify()

    def _waiting(self) -> list[list[tuple[float, int, Visit]]]:
        return [heap for heap in (self._due, self._aside) if heap]

    def _first_due(self) -> float:
        return min((heap[0][0] for heap in self._waiting()), default=math.inf)

    def _pop_due_visit(self, now: float) -> Visit | None:
        self._end_standing_aside(now)
        # since the visit was put there, a document has kept a fetch thread
        while self._due and self._due[0][0] <= now < self._due[0][2].penalty_until:
            heapq.heappush(self._aside, heapq.heappop(self._due))
        for heap in self._waiting():
            if heap[0][0] <= now:
                return heapq.heappop(heap)[2]
        return None

    def _end_standing_aside(self, now: float) -> None:
        back = [entry for entry in self._aside if entry[2].penalty_until <= now]
        if back:
            self._aside = [entry for entry in self._aside if entry[2].penalty_until > now]
            heapq.heapify(self._aside)
            for entry in back:
                heapq.heappush(self._due, entry)

    def give_back(self, visit: Visit) -> None:
        """Return a visit that `take` handed out, with a document that the fetch thread will read
        now, until `has_read`.
        """
        with self._changed:
            self._return(visit, is_unread=True)
            self._add(visit)
            self._tell_if_idle()

    def _return(self, visit: Visit, *, is_unread: bool) -> None:
        self._out -= 1
        visit.unread += is_unread
        self._unread += is_unread

    def has_read(self, visit: Visit) -> None:
        """Note that one of the visit's documents is read and its outcome handed in."""
        with self._changed:
            visit.unread -= 1
            self._unread -= 1
            if visit in self._parked:
                self._parked.remove(visit)
                self._add(visit)
            self._tell_if_idle()

    def _add(self, visit: Visit) -> None:
        if self._put_back(visit):
            self._changed.notify()

    def _put_back(self, visit: Visit) -> bool:
        """Put the visit back. Return whether it falls due before all others, so that no fetch
        thread watches for it yet.
        """
        goes_on = bool(visit.urls) and visit.clock.free_at - time.monotonic() < LONG_REST_SECONDS
        if visit.unread >= (MOST_UNREAD if goes_on else 1):
            self._parked.add(visit)
        elif goes_on:
            self._ticket += 1
            is_first, stands_aside = (
                visit.clock.free_at < self._first_due(),
                visit.penalty_until > time.monotonic(),
            )
            heapq.heappush(
                self._aside if stands_aside else self._due,
                (visit.clock.free_at, self._ticket, visit),
            )
            if is_first:
                self._watch = None  # the watching thread waits for a visit that is due later
            return is_first
        else:
            self._drained.append(visit)
        return False

    def drained(self) -> list[Visit]:
        """Take away the visits that have no URLs left or rest for long."""
        with self._changed:
            visits, self._drained = self._drained, []
        return visits

    def withdraw(self, hosts: Collection[int]) -> list[Visit]:
        """Take away the visits of these hosts, by id, that no fetch thread has or reads a document
        of.
        """
        with self._changed:
            gone = [
                visit
                for _, _, visit in (*self._due, *self._aside)
                if visit.host.host_id in hosts and not visit.unread
            ]
            if gone:
                self._due = [entry for entry in self._due if entry[2] not in gone]
                self._aside = [entry for entry in self._aside if entry[2] not in gone]
                heapq.heapify(self._due)
                heapq.heapify(self._aside)
            return gone

    def overdue(self) -> int:
        """The number of visits that are due but wait for a fetch thread."""
        now = time.monotonic()
        with self._changed:
            return sum(1 for free_at, _, _ in (*self._due, *self._aside) if free_at <= now)

    def is_idle(self) -> bool:
        """Whether no fetch thread has a visit or reads, and none is due."""
        with self._changed:
            return not self._out and not self._unread and self._first_due() > time.monotonic()

    def await_idleness(self, seconds: float, *, is_enough: Callable[[], bool]) -> None:
        """Wait until the fetch threads have nothing to do, or for `seconds`; not at all if they
        have nothing to do now and `is_enough`.

        A thread that is woken for each outcome would cost the fetch threads a thread switch each
        time.
        """
        with self._changed:
            if not (self.is_idle() and is_enough()):
                self._fell_idle.wait(seconds)

    def _tell_if_idle(self) -> None:
        if self.is_idle():
            self._fell_idle.notify()

    def wake(self) -> None:
        """Let every waiting fetch thread check again whether it is still wanted."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Wake every fetch thread and hand out nothing more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
