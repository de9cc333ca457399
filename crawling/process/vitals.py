"""What a work process shows of itself in memory that the worker above it can read, whatever state
it is in.

A parser that holds the interpreter's lock stops every thread of the process, the one that renews
the lease included. So that process cannot report itself: the worker looks at this page of memory
instead, and at the processor time that the kernel counts for each thread.
"""

from __future__ import annotations

import mmap
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

#: monotonic seconds of the last beat; whether the thread that beats waits for PostgreSQL
HEAD = struct.Struct("<d?7x")
#: native id of the thread, id of its URL (0: none), seconds of processor that the thread had used
#: before it
SLOT = struct.Struct("<qqd")
#: more than a crawl may have fetch slots
MOST_SLOTS = 1024


class UrlInHand(NamedTuple):
    """A URL that a thread had in hand, and the processor seconds that the thread had used before
    it.
    """

    thread: int
    url_id: int
    used_before: float


class Vitals:
    """Memory that a process shares with those it forks. Each thread writes its own slot."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, HEAD.size + MOST_SLOTS * SLOT.size)

    def clear(self) -> None:
        """Before a fork: nothing is in hand, and the beat counts from now."""
        self._memory[:] = bytes(len(self._memory))
        self.beat()

    def beat(self, *, is_asking: bool = False) -> None:
        """The interpreter runs. is_asking: the next beat comes once PostgreSQL has answered."""
        HEAD.pack_into(self._memory, 0, time.monotonic(), is_asking)

    @contextmanager
    def in_hand(self, number: int, url_id: int) -> Iterator[None]:
        """Thread `number` of the shift has a URL in hand until the block ends."""
        if number >= MOST_SLOTS:
            yield
            return
        place = HEAD.size + number * SLOT.size
        SLOT.pack_into(self._memory, place, threading.get_native_id(), url_id, time.thread_time())
        try:
            yield
        finally:
            SLOT.pack_into(self._memory, place, 0, 0, 0.0)

    def last_beat(self) -> tuple[float, bool]:
        """Monotonic seconds of the last beat, and whether PostgreSQL was asked then."""
        at, is_asking = HEAD.unpack_from(self._memory)
        return at, is_asking

    def hands(self) -> list[UrlInHand]:
        """What the threads have in hand, or had when the process ended."""
        found = (
            UrlInHand(*SLOT.unpack_from(self._memory, HEAD.size + number * SLOT.size))
            for number in range(MOST_SLOTS)
        )
        return [hand for hand in found if hand.url_id]


#: of this process, and of those that it forks
VITALS = Vitals()
