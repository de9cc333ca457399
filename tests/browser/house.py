"""A house full of crawls, in as many states as the services can bring about without a worker."""

from __future__ import annotations

from django.contrib.auth.models import User

from crawling.crawls.creation import create_crawl, start_run
from crawling.models import CrawlJob, Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.steering import pause, stop
from crawling.scheduler.duties import start_due_crawls
from crawling.worker.jobs import run_shift
from tests.crawling.conftest import granted_starts

#: so much of the bandwidth that two such crawls cannot work at once
MOST = {"bandwidth": 60_000}


def make_crawl(name: str, *seeds: str, by: User | None = None, **fields) -> CrawlJob:
    return create_crawl({"name": name, "seeds": list(seeds), "delay_seconds": 0, **fields}, by=by)


def work_off(run: Run) -> Run:
    """Do a run's shifts in this process until it has ended."""
    while run.state not in ENDED_STATES:
        start_due_crawls()
        for process, epoch in granted_starts():
            run_shift(process, epoch)
        run.refresh_from_db()
    return run


def furnish(web: str, *, by: User) -> dict[str, CrawlJob]:
    """Crawls by name.

    `manual` is done, some of its URLs failed; `holder` was granted what `waiter` waits for.
    """
    crawls = {"manual": make_crawl("Manual", web, by=by, max_pages=40)}
    work_off(start_run(crawls["manual"], by=by))
    for name, what in (("paused", pause), ("stopped", stop)):
        crawls[name] = make_crawl(f"The {name} one", web, by=by)
        start_run(crawls[name], by=by)
        what(crawls[name], by=by)
    crawls["draft"] = make_crawl(
        "A draft with a name as long as names of crawls get when their makers are careful",
        web,
        by=by,
    )
    for name in ("holder", "waiter"):
        crawls[name] = make_crawl(f"The {name}", web, by=by, claim=MOST)
        start_run(crawls[name], by=by)
    return crawls
