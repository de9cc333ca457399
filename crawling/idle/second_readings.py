"""The background job that reads a run's stored pages again and adds their texts to the search
index, with a grant of memory that it asks for after all others and gives back as soon as another
process needs it.

The scheduler queues it again while there is something left.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping

from allocation.errors import AllocationError
from crawling.links.microformats import MEMORY_BYTES
from crawling.links.progress import unindexed_parts, unread_parts
from crawling.links.second_reading import read_part
from crawling.models import Run
from crawling.process.priority import behind_shifts, hurry
from crawling.rq_jobs import is_background_wanted
from crawling.runs.held_units import IDLE, NoUnits, finish_moment, held_units, others_lack
from crawling.search.folder import IndexBusy
from crawling.search.index import IndexWriter, add_parts, writing

#: the tree of one document at a time, and what is kept of a part's pages meanwhile
MEMORY_MIB = 96
#: the program that reads microformats
PROGRAM_MIB = MEMORY_BYTES // 2**20
#: It asks again at its next turn. While it waits it must not become the one that others may pass no
#: more.
WAIT_SECONDS = 2.0
#: between two looks whether another process waits
LOOK_SECONDS = 0.5
#: what a look has found may be as old as that, and to end takes a moment
STEP_SECONDS = 4.0


def read_when_idle(run_id: int) -> str:
    """What RQ runs; returns what became of it. After a kill it continues where it was."""
    run = Run.objects.select_related("crawl").filter(pk=run_id).first()
    if run is None:
        return "the run was deleted"
    reference = f"reading-{run.pk}"
    finish_moment(reference)  # of a job that was killed
    try:
        with (
            behind_shifts(),
            writing() as index,
            held_units(
                {"memory": MEMORY_MIB + PROGRAM_MIB},
                label=f"second reading of run {run.pk}",
                reference=reference,
                wait_seconds=WAIT_SECONDS,
                priority=IDLE,
            ) as (units, lost),
        ):
            if is_background_wanted():
                hurry()  # beside busy shifts a page would take a minute
            return _read(run, index, IdleTurn(units, lost))
    except (NoUnits, IndexBusy, AllocationError) as error:
        return str(error)


def _read(run: Run, index: IndexWriter, turn: IdleTurn) -> str:
    for part in unread_parts(run):
        read_part(run, part, goes_on=turn.goes_on)
        if not turn.is_over:
            add_parts(index, unindexed_parts().filter(pk=part.pk))
        if turn.is_over:
            return "others wait"
    for part in unindexed_parts().filter(run=run):
        add_parts(index, [part])
        if not turn.goes_on():
            return "others wait"
    return "all pages are read"


class IdleTurn:
    """Says when to give back what is held: as soon as another process needs it, or another job
    waits for this worker. The first look is not before LOOK_SECONDS, so that each turn gets some
    work done.
    """

    def __init__(self, units: Mapping[str, int], lost: threading.Event) -> None:
        self._units, self._lost = units, lost
        self._looks_at = time.monotonic() + LOOK_SECONDS
        self._ends_at = math.inf
        self.is_over = False

    def goes_on(self) -> bool:
        """To be asked after each page."""
        if not self.is_over and time.monotonic() > self._looks_at:
            self._looks_at = time.monotonic() + LOOK_SECONDS
            self.is_over = is_background_wanted() or others_lack(self._units)
            if self.is_over:
                hurry()
        self.is_over = self.is_over or self._lost.is_set()
        return not self.is_over

    def seconds_left(self) -> float:
        """For work that cannot end after each page: how long it may go on, so that it has given
        back what it holds 5 s after another process asked for it; without end while none does.
        """
        if self.goes_on():
            return math.inf
        if self._ends_at == math.inf:
            self._ends_at = time.monotonic() + (0 if self._lost.is_set() else STEP_SECONDS)
        return self._ends_at - time.monotonic()
