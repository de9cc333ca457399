"""The turns of background jobs that work when no one else needs the units."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from crawling.process.priority import hurry
from crawling.rq_jobs import do_users_wait, is_background_wanted
from crawling.runs.held_units import IDLE, finish_moment, held_units, others_lack

#: It asks again at its next turn. While it waits it must not become the one that others may pass no
#: more.
WAIT_SECONDS = 2.0
#: between two looks whether another process waits
LOOK_SECONDS = 0.5
#: To begin a turn takes seconds, for the process, its libraries and the index: between jobs that
#: no user asks for, each has so long.
TURN_SECONDS = 10.0
#: what a look has found may be as old as that, and to end takes a moment
STEP_SECONDS = 4.0


class IdleTurn:
    """Says when to give back what is held: as soon as another process needs it, or a job that a
    user asks for waits for this worker; after TURN_SECONDS if it is another job. The first look is
    not before LOOK_SECONDS, so that each turn gets some work done.
    """

    def __init__(self, units: Mapping[str, int], lost: threading.Event) -> None:
        self._units, self._lost = units, lost
        self._ends_at = math.inf
        self.is_over = False
        self.begin()

    def begin(self) -> None:
        """Count from now on: what came before was to get ready."""
        began_at = time.monotonic()
        self._looks_at, self._yields_at = began_at + LOOK_SECONDS, began_at + TURN_SECONDS

    def goes_on(self) -> bool:
        """To be asked after each page."""
        if not self.is_over and time.monotonic() > self._looks_at:
            self._looks_at = time.monotonic() + LOOK_SECONDS
            self.is_over = self._is_worker_wanted() or others_lack(self._units)
            if self.is_over:
                hurry()
        self.is_over = self.is_over or self._lost.is_set()
        return not self.is_over

    def _is_worker_wanted(self) -> bool:
        is_late = time.monotonic() >= self._yields_at
        return do_users_wait() or (is_late and is_background_wanted())

    def seconds_left(self) -> float:
        """For work that cannot end after each page: how long it may go on, so that it has given
        back what it holds 5 s after another process asked for it; without end while none does.
        """
        if self.goes_on():
            return math.inf
        if self._ends_at == math.inf:
            self._ends_at = time.monotonic() + (0 if self._lost.is_set() else STEP_SECONDS)
        return self._ends_at - time.monotonic()


@contextmanager
def idle_turn(reference: str, *, label: str, mebibytes: int) -> Iterator[IdleTurn]:
    """Hold memory that is asked for after all others until the block ends.

    reference: of the job; what one with the same has left, because it was killed, is given back.
    Raises NoUnits, AllocationError. The block is no longer
    behind shifts if another job waits for this worker.
    """
    finish_moment(reference)
    with held_units(
        {"memory": mebibytes},
        label=label,
        reference=reference,
        wait_seconds=WAIT_SECONDS,
        priority=IDLE,
    ) as (units, lost):
        if is_background_wanted():
            hurry()  # beside busy shifts a page would take a minute
        yield IdleTurn(units, lost)
