"""The answers in this process's memory, the look-ups under way, and the effects of flushes."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from dnscache.models import DnsFlush
from dnscache.protocol.answers import DnsAnswer
from dnscache.regions.entry import (
    CachedAnswer,
    Region,
    TreeNode,
    region_of,
    registered_name_of,
    unpack_row,
)
from dnscache.regions.space import CacheSpace, EvictedAnswer

PURGE_EVERY_SECONDS = 60.0
#: the longest time until a process that resolves names notices a flush
FLUSH_CHECK_SECONDS = 1.0
#: the longest time between a flush and the moment when it becomes visible to others
LATE_SECONDS = 60


class PendingLookup:
    """A look-up that several threads wait for. One thread does it; the others wait for `entry`."""

    def __init__(self) -> None:
        self.entry: CachedAnswer | None = None
        self.is_done = threading.Event()

    def finish(self, entry: CachedAnswer | None) -> None:
        """Wake the waiting threads. entry: None if there is no answer."""
        self.entry = entry
        self.is_done.set()


@dataclass
class CacheLookup:
    """The results for the requested names: answers from the cache, look-ups that the caller must
    now do and end, and look-ups of other threads.
    """

    served: dict[str, CachedAnswer] = field(default_factory=dict)
    begun: dict[str, PendingLookup] = field(default_factory=dict)
    joined: dict[str, PendingLookup] = field(default_factory=dict)


class AnswersBelow(NamedTuple):
    #: the names of its tree, each with the third-level answers below it
    branches: list[tuple[TreeNode, list[CachedAnswer]]]
    #: the answers in the conflict area, in the order of the area
    conflicts: list[CachedAnswer]


class AnswerCache:
    """A cache space for any number of threads: reads take no lock, writes take one."""

    def __init__(self, capacity: int) -> None:
        self.space = CacheSpace(capacity)
        #: the answers that were removed recently, the newest last
        self.dropped: list[EvictedAnswer] = []
        #: names that must not be evicted, because they are due soon
        self.needed: Collection[str] = ()
        self._packed_rows: dict[str, str] = {}
        self._pending: dict[str, PendingLookup] = {}
        self._lock = threading.Lock()
        self._purge_at = 0.0

    def serve(self, name: str, now: float) -> CachedAnswer | None:
        """Return the answer if no lookup is needed, and count the hit."""
        entry = self.space.get(name, now)
        if entry is not None:
            return entry
        entry = self.find(name, now)
        if entry is None or not entry.may_be_served(now):
            return None
        entry.count_hit(now)
        return entry

    def find(self, name: str, now: float) -> CachedAnswer | None:
        """The cached answer of a name, fresh or not. No hit is counted."""
        if name in self._packed_rows:
            with self._lock:
                self._unpack_row(name, now)
        return self.space.find(name)

    def knows(self, name: str) -> bool:
        return name in self.space or name in self._packed_rows

    def load_rows(self, rows: Iterable[tuple[str, str]]) -> int:
        """Take over the rows of earlier processes, the most useful first, up to the capacity.
        Return their number.

        A row is unpacked at its first access. An answer that is in memory already stays.
        """
        rows_by_name: dict[str, str] = {}
        room = self.space.capacity - len(self.space)
        with no_garbage_collection():
            rows_by_name.update(islice((row for row in rows if row[0] not in self.space), room))
        with self._lock:
            self._packed_rows = rows_by_name
        return len(rows_by_name)

    def unpack(self, most: int, now: float) -> None:
        """Unpack up to `most` rows that were not accessed yet, so that tables and trees have them,
        too.
        """
        with self._lock:
            for name in list(islice(self._packed_rows, most)):
                self._unpack_row(name, now)

    @property
    def packed(self) -> int:
        """The number of rows of earlier processes that are not unpacked yet."""
        return len(self._packed_rows)

    def registered_names(self, *, text: str, after: str, most: int) -> list[tuple[str, int]]:
        """Up to `most` registered names of table 1 that contain `text`, in alphabetical order from
        behind `after`, each with the number of names in its tree.
        """
        with self._lock:
            forward = self.space.forward
            found = (first for first in forward.table1 if first > after and text in first)
            return [(first, len(forward.names_of(first))) for first in nsmallest(most, found)]

    def answers_below(self, registered: str) -> AnswersBelow:
        """The answers below a registered name."""
        with self._lock:
            reverse = self.space.reverse
            hard = [
                row.entry for name in reverse.names_of(registered) if (row := reverse.find(name))
            ]
            return AnswersBelow(list(self.space.forward.branches(registered)), hard)

    def begin_lookups(self, names: Collection[str], now: float) -> CacheLookup:
        """For each name, return the answer, begin its look-up, or join the look-up of another
        thread.
        """
        results = CacheLookup()
        # one lock for both searches: otherwise a look-up could end between them and be missed
        with self._lock:
            for name in names:
                self._unpack_row(name, now)
                if entry := self.serve(name, now):
                    results.served[name] = entry
                elif name in self._pending:
                    results.joined[name] = self._pending[name]
                else:
                    results.begun[name] = self._pending[name] = PendingLookup()
        return results

    def begin_renewal(self, name: str) -> PendingLookup | None:
        """Begin a look-up even if there is an answer, to renew it. Return None if another thread is
        doing one already.
        """
        with self._lock:
            if name in self._pending:
                return None
            lookup = self._pending[name] = PendingLookup()
            return lookup

    def end_lookup(self, name: str, answer: DnsAnswer | None, now: float) -> CachedAnswer | None:
        """End a look-up of the caller: keep its answer, and wake the waiting threads. Return the
        kept entry.
        """
        with self._lock:
            entry = None if answer is None else self._put_answer(answer, now)
            lookup = self._pending.pop(name)
        lookup.finish(entry)
        return entry

    def adopt(self, entries: Iterable[tuple[str, CachedAnswer]], now: float) -> None:
        """Take over entries that other processes have found, each with its registered name. A name
        with an answer in memory keeps it.
        """
        with self._lock:
            for first, entry in entries:
                if entry.name not in self.space:
                    self._log_evictions(
                        self.space.adopt(entry, now, first=first, needed=self.needed)
                    )

    def forget(self, names: Collection[str] | None = None) -> None:
        """Drop the answers for these names, or all."""
        with self._lock:
            if names is None:
                self._packed_rows.clear()
                self.space.clear()
            for name in names or ():
                self._packed_rows.pop(name, None)
                self.space.remove(name)

    def forget_domain(self, first: str) -> None:
        """Drop a registered name with all names below it."""
        with self._lock:
            self._clear_packed(lambda row: registered_name_of(row) == first)
            for name in self.space.names_of(first):
                self.space.remove(name)

    def forget_reverse_region(self) -> None:
        """Drop every name that failed or was slow."""
        with self._lock:
            self._clear_packed(lambda row: region_of(row) is Region.REVERSE)
            for name in list(self.space.reverse.table3):
                self.space.remove(name)

    def _clear_packed(self, is_meant: Callable[[str], bool]) -> None:
        for name in [name for name, row in self._packed_rows.items() if is_meant(row)]:
            del self._packed_rows[name]

    def _put_answer(self, answer: DnsAnswer, now: float) -> CachedAnswer | None:
        if now >= self._purge_at:
            self._log_evictions(self.space.purge(now))
            self._purge_at = now + PURGE_EVERY_SECONDS
        self._unpack_row(answer.name, now)
        while self._packed_rows and len(self._packed_rows) + len(self.space) >= self.space.capacity:
            self._packed_rows.popitem()  # the least useful row
        self._log_evictions(self.space.put(answer, now, needed=self.needed))
        return self.space.find(answer.name)

    def _unpack_row(self, name: str, now: float) -> None:
        """Unpack a row, if the name has one. The caller holds the lock."""
        row = self._packed_rows.pop(name, None)
        if row is not None:
            first, entry = unpack_row(name, row)
            self._log_evictions(self.space.adopt(entry, now, first=first, needed=self.needed))

    def _log_evictions(self, dropped: list[EvictedAnswer]) -> None:
        self.dropped = [*self.dropped, *dropped][-100:] if dropped else self.dropped


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause garbage collection: while a million objects are made, Python would examine all of them
    repeatedly without finding garbage.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class FlushWatch:
    """Drops the names from a process's memory that any process has flushed.

    It polls a table, since a notification can be missed and a row cannot.
    """

    def __init__(self, memory: AnswerCache) -> None:
        self._memory = memory
        self._heeded_at: float | None = None
        self._seen: set[int] = set()

    def apply_new_flushes(self, now: float) -> None:
        """Read new flushes if the last look is long enough ago.

        At the first call there is nothing in memory to flush.
        """
        if self._heeded_at is None:
            self._heeded_at = now
        if now - self._heeded_at < FLUSH_CHECK_SECONDS:
            return
        flushes = DnsFlush.objects.since(seconds=now - self._heeded_at + LATE_SECONDS)
        self._heeded_at = now
        for flush in flushes:
            if flush.pk not in self._seen:
                forget_flushed(flush, self._memory)
        self._seen = {flush.pk for flush in flushes}


def forget_flushed(flush: DnsFlush, memory: AnswerCache) -> None:
    """Drop the names of a flush from a process's memory. `store.py` does the same in SQL."""
    match flush.scope:
        case DnsFlush.Scope.NAME:
            memory.forget([flush.value])
        case DnsFlush.Scope.DOMAIN:
            memory.forget_domain(flush.value)
        case DnsFlush.Scope.REVERSE:
            memory.forget_reverse_region()
        case _:
            memory.forget()
