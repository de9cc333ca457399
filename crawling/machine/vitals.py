"""Signs of life of a work process, in memory that its worker can read whatever state the process is
in. They show whether the process hangs, and which URL is the cause.

A parser that holds the interpreter's lock stops every thread of the process, including the thread
that renews the lease. So the process cannot report that itself; its worker reads this page of
memory, and the processor time that the kernel counts for each thread.
"""

from __future__ import annotations

import mmap
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import psutil

#: monotonic seconds of the last beat, and whether the beating thread waits for PostgreSQL
HEAD = struct.Struct("<d?")
#: monotonic seconds since which code of a package is running; 0 if none is
CALL = struct.Struct("<d")
CALL_AT, SLOTS_AT = 16, 24
#: a call that has not returned after this time is stuck
STUCK_SECONDS = 5.0
#: the thread's native id, the id of its URL (0 for none), and the processor seconds that the thread
#: had used when it took the URL
SLOT = struct.Struct("<qqd")
#: more than the fetch slots of any crawl
MOST_SLOTS = 1024


class UrlInHand(NamedTuple):
    """A URL in the hands of a thread, and the processor seconds that the thread had used before
    it.
    """

    thread: int
    url_id: int
    used_before: float


class Vitals:
    """Memory that a process shares with the processes that it forks. Each thread writes its own
    slot.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, SLOTS_AT + MOST_SLOTS * SLOT.size)
        #: whether this process works on a shift, and a worker watches it
        self.in_shift = False

    def clear(self) -> None:
        """Clear all slots before a job, and count the beat from now on."""
        self._memory[:] = bytes(len(self._memory))
        self.beat()

    def beat(self, *, is_asking: bool = False) -> None:
        """Note that the interpreter runs. is_asking: the next beat comes only after PostgreSQL has
        answered.
        """
        HEAD.pack_into(self._memory, 0, time.monotonic(), is_asking)

    @contextmanager
    def shift(self) -> Iterator[None]:
        """Note that a shift is working, until the block ends."""
        self.in_shift = True
        try:
            yield
        finally:
            self.in_shift = False

    @contextmanager
    def package_call(self) -> Iterator[None]:
        """Note that code of a package is running, until the block ends. One thread at a time may do
        so.
        """
        CALL.pack_into(self._memory, CALL_AT, time.monotonic())
        try:
            yield
        finally:
            CALL.pack_into(self._memory, CALL_AT, 0.0)

    def is_stuck(self) -> bool:
        """Whether code of a package has not returned in time."""
        since: float = CALL.unpack_from(self._memory, CALL_AT)[0]
        return since > 0 and time.monotonic() - since > STUCK_SECONDS

    @contextmanager
    def hold_url(self, number: int, url_id: int) -> Iterator[None]:
        """Note that thread `number` has a URL in hand until the block ends. After that the thread
        has its earlier URL again, for which the time of the block does not count.
        """
        if number >= MOST_SLOTS:
            yield
            return
        place = SLOTS_AT + number * SLOT.size
        thread, before, used = SLOT.unpack_from(self._memory, place)
        began = time.thread_time()
        SLOT.pack_into(self._memory, place, threading.current_thread().native_id, url_id, began)
        try:
            yield
        finally:
            used += time.thread_time() - began if before else 0.0
            SLOT.pack_into(self._memory, place, thread, before, used)

    def latest_beat(self) -> tuple[float, bool]:
        """Monotonic seconds of the last beat, and whether the process was waiting for PostgreSQL
        then.
        """
        at, is_asking = HEAD.unpack_from(self._memory)
        return at, is_asking

    def urls_in_hand(self) -> list[UrlInHand]:
        """The URLs that the threads have in hand, or had when the process ended."""
        found = (
            UrlInHand(*SLOT.unpack_from(self._memory, SLOTS_AT + number * SLOT.size))
            for number in range(MOST_SLOTS)
        )
        return [hand for hand in found if hand.url_id]


#: the vitals of this process, and of the processes that it forks
VITALS = Vitals()


@dataclass(frozen=True)
class KillReason:
    why: str
    #: the URL that is known to be the cause; None if no URL is
    culprit: int | None = None
    #: whether the process waits for PostgreSQL, which no page can cause
    is_explained: bool = False
    #: whether the next shift would have the same fault, so that the run must be paused
    comes_again: bool = False


def find_kill_reason(pid: int, vitals: Vitals, lease_seconds: float) -> KillReason | None:
    """The fault of the process; None if it has none so far.

    A document may take half a lease of processor time. If the interpreter hangs, the document that
    uses the processor is found after a third of a lease. The lease was renewed at most another
    third before, so it has not expired yet.
    """
    beat_at, is_asking = vitals.latest_beat()
    silence = time.monotonic() - beat_at
    hand, cost = _costliest_url(pid, vitals.urls_in_hand())
    if hand and cost > lease_seconds / 2:
        return KillReason(f"one page took {cost:.0f} s of processor time", hand.url_id)
    if hand and silence > lease_seconds / 3 and cost > lease_seconds / 12 and not is_asking:
        return KillReason(
            f"one page kept everything else from running for {silence:.0f} s", hand.url_id
        )
    if vitals.is_stuck() and silence < lease_seconds / 3 and not _is_stopped(pid):
        return KillReason(
            "the order of visits of a package did not return", is_explained=True, comes_again=True
        )
    if silence > lease_seconds and not _is_stopped(pid):
        return KillReason(f"it sent no heartbeat for {silence:.0f} s", is_explained=is_asking)
    return None


def _costliest_url(pid: int, hands: list[UrlInHand]) -> tuple[UrlInHand | None, float]:
    """The URL in hand that has used the most processor time, and its seconds."""
    try:
        used = (
            {
                thread.id: thread.user_time + thread.system_time
                for thread in psutil.Process(pid).threads()
            }
            if hands
            else {}
        )
    except (psutil.Error, NotImplementedError):
        used = {}
    costs = [(used.get(hand.thread, hand.used_before) - hand.used_before, hand) for hand in hands]
    cost, hand = max(costs, key=lambda found: found[0], default=(0.0, None))
    return hand, cost


def _is_stopped(pid: int) -> bool:
    """Whether the process was stopped by SIGSTOP, and may be continued."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return True
