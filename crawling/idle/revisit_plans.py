"""The background job that plans the revisits of a crawl, with a grant of memory.

Its turn is among those of crawls: it works for seconds, and what was read would be lost if it gave
the memory back before the plan is stored. Without a grant the scheduler queues it again.
"""

from __future__ import annotations

from django.db import connections

from allocation.errors import AllocationError
from crawling.jobs.rq_jobs import REVISITS
from crawling.jobs.temporary_grant import NoUnits, release_orphaned_grant, temporary_grant
from crawling.models import CrawlJob, Page
from crawling.pools import memory_to_hold
from crawling.revisits.history import ended_runs
from crawling.revisits.planner import plan_crawl

#: what any plan takes, and bytes of a page: of a million 410 MiB were measured, and 50 more for the
#: ends of intervals
LEAST_MIB, BYTES_OF_A_PAGE = 64, 450
#: as that of a new crawl
PRIORITY = 0
WAIT_SECONDS = 30.0


def plan_when_granted(crawl_id: int) -> str:
    """What RQ runs; returns what became of it."""
    connections.close_all()  # a connection from before the fork belongs to the parent
    name = f"revisits-{crawl_id}"
    with REVISITS.alone(crawl_id) as is_alone:
        if not is_alone or not CrawlJob.objects.filter(pk=crawl_id).exists():
            return "another worker has it, or the crawl is gone"
        release_orphaned_grant(name)
        try:
            with temporary_grant(
                {"memory": mebibytes_of(crawl_id)},
                label=f"revisits of crawl {crawl_id}",
                reference=name,
                wait_seconds=WAIT_SECONDS,
                priority=PRIORITY,
            ):
                plan_crawl(crawl_id)
        except (NoUnits, AllocationError) as error:
            return str(error)
    return "it is planned"


def mebibytes_of(crawl_id: int) -> int:
    """What is held: what it takes, or all that there is."""
    latest = ended_runs(crawl_id).first()
    pages = Page.objects.filter(run=latest).count() if latest else 0
    takes = LEAST_MIB + pages * BYTES_OF_A_PAGE // 2**20
    return memory_to_hold(takes)
