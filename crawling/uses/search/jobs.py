"""The background jobs that maintain the search index of a machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from django.core.cache import cache
from redis.exceptions import RedisError

from crawling.archive.files import this_machine
from crawling.datasets.jobs import LOOKED_AT_SECONDS
from crawling.datasets.lag import Derived, Lag, lags_by_run
from crawling.datasets.progress import abandoned_parts, unindexed_parts
from crawling.jobs.enqueue import request_job
from crawling.jobs.job_rows import open_jobs
from crawling.jobs.kinds import KEPT_DAY, KEPT_HOUR, OF_ROWS, DueJob, JobKind, JobResult, JobScope
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.running_job import JobWaits, RunningJob

#: enough for the memory that is filled before a segment is written, and for a part's texts
MEMORY_MIB = 96
#: the cache key of a mark that a user is searching
SEARCHED = "searched"


def request_indexing() -> None:
    """Request a background job that adds texts to the search index of this machine."""
    if unindexed_parts().exists():
        request_job(INDEXING, None, by=None, subject=_indexing_job().subject)


def lag_of_search(runs: Collection[int]) -> Lag:
    """The lag of the index behind the pages of these runs, for a user who searches them. If there
    is a lag, the job that updates the index is put first.
    """
    lag = lags_by_run(sorted(runs), Derived.SEARCH)
    with suppress(RedisError):  # without Redis the job comes in its usual order
        if not lag.complete and cache.add(SEARCHED, True, timeout=LOOKED_AT_SECONDS):
            request_indexing()
            for job in open_jobs().filter(kind=INDEXING.name):
                INDEXING.job.put_first(job.pk)
    return lag


def request_removal_of_texts(removed: Callable[[], Iterator[int]]) -> None:
    """Remove texts whose records have left the archive. Raises IndexBusy or OSError."""
    from crawling.uses.search.index import remove_texts

    remove_texts(removed)


def request_repair() -> None:
    """Request a background job that makes the search index of this machine usable."""
    request_job(INDEX_REPAIR, None, by=None, subject=_indexing_job().subject)


# the functions below import the modules that read documents or the index, since only they need them


def _index_parts(job: RunningJob) -> JobResult:
    from crawling.uses.search.folder import IndexBusy
    from crawling.uses.search.index import index_new_parts

    def store_bookmark(part: int, pages: int) -> None:
        job.bookmark(part, **job.progress_after(pages))

    try:
        is_done = index_new_parts(job.goes_on, store_bookmark)
    except IndexBusy as error:
        raise JobWaits(str(error)) from error
    return {} if is_done else None


def _due_for_unindexed_parts() -> Iterator[DueJob]:
    if unindexed_parts().exists():
        yield _indexing_job()


def _forget_abandoned_parts(job: RunningJob) -> JobResult:
    from crawling.uses.search.index import remove_texts_of_abandoned_parts

    return _write_index(remove_texts_of_abandoned_parts)


def _due_for_abandoned_parts() -> Iterator[DueJob]:
    if abandoned_parts().exists():
        yield _indexing_job()


def _repair_index(job: RunningJob) -> JobResult:
    from crawling.uses.search.index import repair_index

    return _write_index(repair_index)


def _write_index(write: Callable[[], None]) -> JobResult:
    """Write to the index. Raises JobWaits while another process writes it."""
    from crawling.uses.search.folder import IndexBusy

    try:
        write()
    except IndexBusy as error:
        raise JobWaits(str(error)) from error
    return {}


def _indexing_job() -> DueJob:
    return DueJob(f"index of {this_machine()}")


INDEXING = JobKind(
    name="indexing",
    label="texts added to the search index",
    done="added",
    work=_index_parts,
    # separate jobs remove deleted and withdrawn texts from the index
    effects=OF_ROWS,
    queue=IDLE,
    scope=JobScope.INSTALLATION,
    memory=lambda job: MEMORY_MIB,
    due=_due_for_unindexed_parts,
    kept=KEPT_HOUR,
)
#: the job that removes all abandoned parts
FORGETTING = JobKind(
    name="forgotten-texts",
    label="removal of texts from the search index",
    done="removed",
    work=_forget_abandoned_parts,
    effects=OF_ROWS,
    seconds=15 * 60,
    queue=IDLE,
    at_front=True,
    scope=JobScope.INSTALLATION,
    due=_due_for_abandoned_parts,
    kept=KEPT_DAY,
)
INDEX_REPAIR = JobKind(
    name="index-repair",
    label="repair of the search index",
    done="repaired",
    work=_repair_index,
    effects=OF_ROWS,
    seconds=15 * 60,
    queue=IDLE,
    at_front=True,
    scope=JobScope.INSTALLATION,
    kept=KEPT_DAY,
)
KINDS = (INDEXING, FORGETTING, INDEX_REPAIR)
