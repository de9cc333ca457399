"""The background job that counts the problems of a run once its pages are read."""

from __future__ import annotations

from crawling.jobs.enqueue import request_job
from crawling.jobs.kinds import KEPT_DAY, OF_ROWS, JobKind, JobResult
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.running_job import RunningJob
from crawling.models import Run

#: DuckDB's limit, and what is read of the pages' rows
MEMORY_MIB = 96


def _work(job: RunningJob) -> JobResult:
    # DuckDB is imported by those who need it
    from crawling.uses.link_check.problem_counts import count_problems

    return count_problems(job)


PROBLEM_COUNTS = JobKind(
    name="problem-counts",
    label="count of problems",
    done="counted",
    work=_work,
    effects=OF_ROWS,  # the numbers are kept by what changes them
    queue=IDLE,
    memory=lambda job: MEMORY_MIB,
    kept=KEPT_DAY,
)
KINDS = (PROBLEM_COUNTS,)


def count_again(run: Run) -> None:
    """All pages of the run were read again."""
    request_job(PROBLEM_COUNTS, run, by=None)
