"""The background jobs that write the links of a run which shifts have collected, and those that
read its stored pages again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count

from django.contrib.auth.models import User
from django.core.cache import cache
from django.utils import timezone
from redis.exceptions import RedisError

from crawling.datasets.parts import collected_parts, lost_parts
from crawling.datasets.progress import unread_parts, unread_runs
from crawling.jobs.due_jobs import request_unless_taken
from crawling.jobs.enqueue import request_job
from crawling.jobs.job_rows import open_jobs
from crawling.jobs.kinds import KEPT_HOUR, OF_ROWS, DueJob, JobKind, JobResult, kind_of
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.running_job import RunningJob
from crawling.models import BackgroundJob, Run
from crawling.models.jobs import ENDED_STATES

LATE = timedelta(seconds=30)
#: the time between two jobs of a run that a user views, and between two of an ended run, whose last
#: links are wanted soon
SOON, AT_ONCE = timedelta(seconds=2), timedelta(0)
#: the time after a view of a run in which further views do not put its jobs first again
LOOKED_AT_SECONDS = 5
#: enough for the tree of one document and the data of a part's pages
MEMORY_MIB = 96


def request_reading(run: Run, *, by: User | None) -> int:
    """Request a background job that reads the run's pages again. Return the number of parts that
    wait for their second reading.
    """
    waiting = unread_parts(run).count()
    if waiting:
        request_job(SECOND_READING, run, by=by)
    return waiting


def move_reading_to_front(run: Run) -> None:
    """Put the jobs that derive data of a run before the jobs of other runs, since a user views the
    run. A view costs a query to the cache. Jobs are requested at most every LOOKED_AT_SECONDS. Jobs
    that have just failed are not requested, since each view would let them fail again.
    """
    with suppress(RedisError):  # without Redis the jobs come in their usual order
        if not cache.add(f"looked-at/{run.pk}", True, timeout=LOOKED_AT_SECONDS):
            return
        for kind, parts in ((LINKS, collected_parts()), (SECOND_READING, unread_parts(run))):
            if parts.filter(run=run).exists():
                request_unless_taken(kind, DueJob(f"run {run.pk}", run.pk), rest=SOON)
        for job in open_jobs().filter(run=run).order_by("-pk"):
            if kind_of(job).queue == IDLE:
                kind_of(job).job.put_first(job.pk)


def write_links_of_ended(run: Run) -> None:
    """Request that the links of an ended run are written at once, before others. Safe to repeat.
    Links that a crash leaves unwritten are written like those of other runs.
    """
    if not collected_parts().filter(run=run).exists():
        return
    if job := request_unless_taken(LINKS, DueJob(f"run {run.pk}", run.pk), rest=AT_ONCE):
        with suppress(RedisError):  # without Redis the job comes in its usual order
            LINKS.job.put_first(job.pk)


def _write_links(job: RunningJob) -> JobResult:
    # the readers of documents are imported only where they are needed
    from crawling.datasets.catch_up import catch_up

    parts, has_ended, is_left = count(1), False, True
    while is_left:
        catch_up(
            job.run.pk, note=lambda pages: job.bookmark(next(parts), **job.progress_after(pages))
        )
        has_ended = Run.all_objects.filter(pk=job.run.pk, state__in=ENDED_STATES).exists()
        # if the run has ended meanwhile, its last part is requested while this job is open
        is_left = has_ended and collected_parts().filter(run=job.run).exists()
    if has_ended:
        request_reading(job.run, by=None)
    return {}


def _due_runs() -> Iterator[DueJob]:
    """Runs with parts that shifts have collected or left behind."""
    collected = set(collected_parts().values_list("run", flat=True))
    # a shift that has just ended may still be noting that its part is collected
    lost = lost_parts().filter(opened_at__lt=timezone.now() - LATE)
    for run in sorted(collected | set(lost.values_list("run", flat=True))):
        yield DueJob(f"run {run}", run)


def _do_second_reading(job: RunningJob) -> JobResult:
    from crawling.datasets.second_reading import read_parts

    return read_parts(job)


def _memory_mebibytes(job: BackgroundJob) -> int:
    """The job's memory, including the program that reads microformats."""
    from crawling.datasets.microformats import LIMITS

    return MEMORY_MIB + LIMITS.memory_bytes // 2**20


def _due_for_unread_runs() -> Iterator[DueJob]:
    for run in sorted(unread_runs()):
        yield DueJob(f"run {run}", run)


LINKS = JobKind(
    name="links",
    label="dataset of links",
    done="written",
    work=_write_links,
    effects=OF_ROWS,  # the parts are removed with their run, and lose withdrawn pages
    queue=IDLE,
    due=_due_runs,
    kept=KEPT_HOUR,
)
SECOND_READING = JobKind(
    name="second-reading",
    label="indexing of pages",
    done="read",
    work=_do_second_reading,
    effects=OF_ROWS,
    queue=IDLE,
    memory=_memory_mebibytes,
    due=_due_for_unread_runs,
    kept=KEPT_HOUR,
)
KINDS = (LINKS, SECOND_READING)
