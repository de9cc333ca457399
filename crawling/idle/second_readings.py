"""The background job that reads a run's stored pages again and adds their texts to the search
index, with a grant of memory that it asks for after all others and gives back as soon as another
process needs it.

The scheduler queues it again while there is something left.
"""

from __future__ import annotations

from allocation.errors import AllocationError
from crawling.jobs.rq_jobs import PROBLEM_COUNTS
from crawling.jobs.temporary_grant import NoUnits
from crawling.jobs.turns import IdleTurn, idle_turn
from crawling.links.microformats import LIMITS
from crawling.links.progress import unindexed_parts, unread_parts
from crawling.links.second_reading import read_part
from crawling.models import Run
from crawling.models.jobs import ENDED_STATES
from crawling.search.folder import IndexBusy
from crawling.search.index import IndexWriter, add_parts, writing

#: the tree of one document at a time, and what is kept of a part's pages meanwhile
MEMORY_MIB = 96
#: the program that reads microformats
PROGRAM_MIB = LIMITS.memory_bytes // 2**20


def read_when_idle(run_id: int) -> str:
    """What RQ runs; returns what became of it. After a kill it continues where it was."""
    run = Run.objects.select_related("crawl").filter(pk=run_id).first()
    if run is None:
        return "the run was deleted"
    try:
        with (
            idle_turn(
                f"reading-{run.pk}",
                label=f"second reading of run {run.pk}",
                mebibytes=MEMORY_MIB + PROGRAM_MIB,
            ) as turn,
            writing() as index,
        ):
            return _read(run, index, turn)
    except (NoUnits, IndexBusy, AllocationError) as error:
        return str(error)


def _read(run: Run, index: IndexWriter, turn: IdleTurn) -> str:
    is_all_read = True
    for part in unread_parts(run):
        pages = read_part(run, part, goes_on=turn.goes_on)
        is_all_read &= pages is not None
        if not turn.is_over:
            add_parts(index, unindexed_parts().filter(pk=part.pk))
        if turn.is_over:
            return "others wait"
    for part in unindexed_parts().filter(run=run):
        add_parts(index, [part])
        if not turn.goes_on():
            return "others wait"
    if not is_all_read:
        return "a command reads the rest"
    if run.state in ENDED_STATES:
        PROBLEM_COUNTS.ask(run.pk)
    return "all pages are read"
