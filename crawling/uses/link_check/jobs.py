"""The background jobs that count the broken links of a run once it has ended, and its problems once
its pages are read.
"""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from crawling.jobs.enqueue import request_job
from crawling.jobs.kinds import KEPT_DAY, OF_ROWS, JobKind, JobResult
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.running_job import JobWaits, RunningJob
from crawling.models import Run

#: after this time it is no longer awaited that the links of another machine become known, and the
#: runs are counted without them
LONGEST_WAIT = timedelta(days=1)
#: for DuckDB's limit, and the rows of pages that are read
MEMORY_MIB = 96


def _count_problems(job: RunningJob) -> JobResult:
    # DuckDB is imported only where it is needed
    from crawling.uses.link_check.problem_counts import count_problems

    return count_problems(job)


PROBLEM_COUNTS = JobKind(
    name="problem-counts",
    label="count of problems",
    done="counted",
    work=_count_problems,
    effects=OF_ROWS,  # code that changes the data updates the numbers
    queue=IDLE,
    memory=lambda job: MEMORY_MIB,
    kept=KEPT_DAY,
)


def _count_broken(job: RunningJob) -> JobResult:
    """Count the broken links of a run that has ended, compared with the run before it. Raises
    JobWaits until the links of both runs are known.
    """
    from crawling.datasets.lag import are_links_due
    from crawling.uses.link_check.trend import count_broken, previous_run

    run, old = job.run, previous_run(job.run)
    if old and timezone.now() < job.row.asked_at + LONGEST_WAIT:
        for one in (old, run):
            if are_links_due(one):
                raise JobWaits(f"it waits for the links of run {one.number}")
    count_broken(run)
    return {}


BROKEN_LINKS = JobKind(
    name="broken-links",
    label="count of broken links",
    done="counted",
    work=_count_broken,
    effects=OF_ROWS,  # the result has only numbers
    queue=IDLE,
    at_front=True,  # the job is short, and news wait for it
    kept=KEPT_DAY,
)
KINDS = (PROBLEM_COUNTS, BROKEN_LINKS)


def request_new_counts(run: Run) -> None:
    """Count the problems of a run again, since all its pages were read again."""
    request_job(PROBLEM_COUNTS, run, by=None)


def request_broken_count(run: Run) -> None:
    """Request the count of broken links of a run that ends, in the transaction that ends it."""
    from crawling.uses.link_check.trend import has_failures, store_no_broken_links

    if has_failures(run):
        request_job(BROKEN_LINKS, run, by=None)
    else:
        store_no_broken_links(run)
