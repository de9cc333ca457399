"""A house full of crawls, in as many states as the services can bring about without a worker."""

from __future__ import annotations

from django.contrib.auth.models import User

from crawling.models import CrawlJob
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import pause, stop
from tests.crawling.conftest import do_shifts

#: so much of the bandwidth that two such crawls cannot work at once
MOST = {"bandwidth": 60_000}


def make_crawl(name: str, *seeds: str, by: User | None = None, **fields) -> CrawlJob:
    return create_crawl({"name": name, "seeds": list(seeds), "delay_seconds": 0, **fields}, by=by)


def furnish(web: str, *, by: User) -> dict[str, CrawlJob]:
    """Crawls by name.

    `manual` is done, some of its URLs failed; `holder` was granted what `waiter` waits for.
    """
    crawls = {"manual": make_crawl("Manual", web, by=by, max_pages=40)}
    do_shifts(start_run(crawls["manual"], by=by))
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
