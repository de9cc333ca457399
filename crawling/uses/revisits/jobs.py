"""The background job that plans the revisits of a crawl, with a grant of memory. Its request has
the priority of a crawl, since it works for only a few seconds, and would lose its data if it
released the memory before the plan is stored.
"""

from __future__ import annotations

from collections.abc import Iterator

from allocation.errors import AllocationError
from crawling.installation.pools import memory_to_hold
from crawling.jobs.kinds import KEPT_DAY, OF_ROWS, DueJob, JobKind, JobResult, JobScope
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.running_job import JobWaits, RunningJob
from crawling.jobs.temporary_grant import NoUnits, release_orphaned_grant, temporary_grant
from crawling.models import BackgroundJob, Page, Run

#: the memory for any plan, and the bytes for each page. Measured for a million pages: 410 MiB, and
#: 50 MiB for the ends of intervals
LEAST_MIB, BYTES_OF_A_PAGE = 64, 450
#: the priority of a new crawl
PRIORITY = 0
WAIT_SECONDS = 30.0


def _make_plan(job: RunningJob) -> JobResult:
    # numerical modules are imported only where they are needed
    from crawling.uses.revisits.planner import plan_crawl

    crawl_id, reference = job.run.crawl_id, _pool_reference(job.row)
    release_orphaned_grant(reference)
    try:
        with temporary_grant(
            {"memory": memory_mebibytes_of_crawl(crawl_id)},
            label=f"revisits of crawl {crawl_id}",
            reference=reference,
            wait_seconds=WAIT_SECONDS,
            priority=PRIORITY,
        ):
            plan_crawl(crawl_id)
    except (NoUnits, AllocationError) as error:
        raise JobWaits(str(error)) from error
    return {}


def memory_mebibytes_of_crawl(crawl_id: int) -> int:
    """The memory that planning needs, or all memory of the pool if that is less."""
    from crawling.uses.revisits.history import ended_runs

    latest = ended_runs(crawl_id).first()
    pages = Page.objects.filter(run=latest).count() if latest else 0
    takes = LEAST_MIB + pages * BYTES_OF_A_PAGE // 2**20
    return memory_to_hold(takes)


def _due_crawls() -> Iterator[DueJob]:
    from crawling.uses.revisits.plans import crawls_to_plan

    latest = Run.objects.filter(crawl__in=crawls_to_plan(), is_latest=True)
    for crawl, run in latest.values_list("crawl", "pk"):
        yield DueJob(f"crawl {crawl}", run)


def _pool_reference(job: BackgroundJob) -> str:
    return f"revisits-{job.pk}"


REVISITS = JobKind(
    name="revisits",
    label="plan of revisits",
    done="planned",
    work=_make_plan,
    effects=OF_ROWS,  # a withdrawal itself deletes the plans for its pages
    queue=IDLE,
    scope=JobScope.CRAWL,
    due=_due_crawls,
    kept=KEPT_DAY,
    clear=lambda job: release_orphaned_grant(_pool_reference(job)),
)
KINDS = (REVISITS,)
