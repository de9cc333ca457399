"""Background jobs of what search needs: the second reading of pages, and the search index of a
machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.contrib.auth.models import User

from crawling.archive.files import this_machine
from crawling.datasets.progress import abandoned_parts, unread_parts, unread_runs
from crawling.jobs.enqueue import ask_job
from crawling.jobs.kinds import KEPT_DAY, KEPT_HOUR, OF_ROWS, DueJob, JobKind, JobResult, JobScope
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.running_job import JobWaits, RunningJob
from crawling.models import BackgroundJob, Run

#: the tree of one document at a time, and what is kept of a part's pages meanwhile
MEMORY_MIB = 96


def ask_reading(run: Run, *, by: User | None) -> int:
    """Let a background job read its pages again; returns how many parts wait."""
    waiting = unread_parts(run).count()
    if waiting:
        ask_job(SECOND_READING, run, by=by)
    return waiting


def ask_repair() -> None:
    """Let a background job make the search index of this machine usable."""
    ask_job(INDEX_REPAIR, None, by=None, subject=_index().subject)


# What reads documents, or the index, is imported by those who need it.


def _read_again(job: RunningJob) -> JobResult:
    from crawling.uses.search.second_readings import read_and_index

    return read_and_index(job)


def _memory(job: BackgroundJob) -> int:
    """With the program that reads microformats."""
    from crawling.datasets.microformats import LIMITS

    return MEMORY_MIB + LIMITS.memory_bytes // 2**20


def _unread() -> Iterator[DueJob]:
    for run in sorted(unread_runs()):
        yield DueJob(f"run {run}", run)


def _forget(job: RunningJob) -> JobResult:
    from crawling.uses.search.index import forget_abandoned

    return _written(forget_abandoned)


def _abandoned() -> Iterator[DueJob]:
    if abandoned_parts().exists():
        yield _index()


def _repair(job: RunningJob) -> JobResult:
    from crawling.uses.search.index import repair

    return _written(repair)


def _written(write: Callable[[], None]) -> JobResult:
    """Raises JobWaits while another process writes the index."""
    from crawling.uses.search.folder import IndexBusy

    try:
        write()
    except IndexBusy as error:
        raise JobWaits(str(error)) from error
    return {}


def _index() -> DueJob:
    return DueJob(f"index of {this_machine()}")


SECOND_READING = JobKind(
    name="second-reading",
    label="second reading of pages",
    done="read",
    work=_read_again,
    # what is deleted or withdrawn leaves the index by jobs of its own
    effects=OF_ROWS,
    queue=IDLE,
    memory=_memory,
    due=_unread,
    kept=KEPT_HOUR,
)
#: it does the work of all abandoned parts
FORGETTING = JobKind(
    name="forgotten-texts",
    label="removal of texts from the search index",
    done="removed",
    work=_forget,
    effects=OF_ROWS,
    seconds=15 * 60,
    queue=IDLE,
    at_front=True,
    scope=JobScope.INSTALLATION,
    due=_abandoned,
    kept=KEPT_DAY,
)
INDEX_REPAIR = JobKind(
    name="index-repair",
    label="repair of the search index",
    done="repaired",
    work=_repair,
    effects=OF_ROWS,
    seconds=15 * 60,
    queue=IDLE,
    at_front=True,
    scope=JobScope.INSTALLATION,
    kept=KEPT_DAY,
)
