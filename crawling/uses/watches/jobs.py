"""The background job that compares the watched pages of a crawl once a run has ended."""

from __future__ import annotations

from collections.abc import Iterator

from crawling.jobs.kinds import KEPT_DAY, OF_ROWS, DueJob, JobKind, JobResult, JobScope
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.running_job import RunningJob
from crawling.models import Run
from crawling.uses.watches.watching import delete_removed_watches


def _compare_watched(job: RunningJob) -> JobResult:
    # readers of documents are imported only where they are needed
    from crawling.uses.watches.comparing import compare_watched

    compare_watched(job.run.crawl_id)
    return {}


def _due_jobs() -> Iterator[DueJob]:
    from crawling.uses.watches.comparing import due_crawls

    latest = Run.objects.filter(crawl__in=due_crawls(), is_latest=True)
    for crawl, run in latest.values_list("crawl", "pk"):
        yield DueJob(f"crawl {crawl}", run)


WATCHES = JobKind(
    name="watches",
    label="comparison of watched pages",
    done="compared",
    work=_compare_watched,
    effects=OF_ROWS,  # the job stores events, which a withdrawal removes
    queue=IDLE,
    at_front=True,  # the news wait for this job
    scope=JobScope.CRAWL,
    due=_due_jobs,
    kept=KEPT_DAY,
)
KINDS = (WATCHES,)
DUTIES = ((delete_removed_watches, 600.0),)
