"""A crawl's report for readers without an account: results of the latest run, without data that
would reveal other crawls, this installation, or a secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils import timezone

from crawling.dashboard.pages.filter import PageFilter
from crawling.dashboard.run.overview import StatusRow, status_rows
from crawling.dashboard.run.pages import pages_of
from crawling.frontier import RunCounts, counts_of
from crawling.models import CrawlJob, HostQueue, Page, Run, RunState
from crawling.web.secret_headers import MASK, USER_INFORMATION

SEEDS, HOSTS, PAGES = 10, 20, 50
#: the states whose reason is about this crawl only; other reasons may name another crawl or a
#: directory
TOLD = frozenset({RunState.FINISHED, RunState.STOPPED})


@dataclass(frozen=True)
class SharedPage:
    page: Page
    url: str

    @property
    def title(self) -> str:
        return self.page.title


@dataclass(frozen=True)
class SharedHost:
    name: str
    queued: int
    done: int


@dataclass(frozen=True)
class SharedReport:
    name: str
    #: some of the seeds, without user names and passwords
    seeds: Sequence[str]
    #: the number of further seeds
    more_seeds: int
    #: the latest run; None if the crawl was never started
    run: Run | None = None
    counts: RunCounts = field(default_factory=RunCounts)
    statuses: Sequence[StatusRow] = ()
    hosts: Sequence[SharedHost] = ()
    pages: Sequence[SharedPage] = ()

    @property
    def reason(self) -> str:
        """The reason why the run ended, if it is about this crawl only."""
        return self.run.reason if self.run and self.run.state in TOLD else ""

    @property
    def pages_per_second(self) -> float | None:
        """The rate from the first fetch to the end, or until now."""
        if self.run is None or self.run.started_at is None:
            return None
        until = self.run.finished_at or timezone.now()
        seconds = (until - self.run.started_at).total_seconds()
        return self.counts.fetched / seconds if seconds > 0 else None


def shared_report(crawl: CrawlJob) -> SharedReport:
    """The report of the latest run. Takes a fixed number of queries."""
    seeds = [without_user(seed) for seed in crawl.seeds[:SEEDS]]
    more = max(0, len(crawl.seeds) - SEEDS)
    run = crawl.runs.filter(is_latest=True).first()
    if run is None:
        return SharedReport(crawl.name, seeds, more)
    queues = HostQueue.objects.filter(run=run).order_by("-done", "pk")
    return SharedReport(
        name=crawl.name,
        seeds=seeds,
        more_seeds=more,
        run=run,
        counts=counts_of([run.pk])[run.pk],
        statuses=status_rows(run),
        hosts=[
            SharedHost(*row) for row in queues.values_list("host__name", "queued", "done")[:HOSTS]
        ],
        pages=[
            SharedPage(page, without_user(page.url.url))
            for page in pages_of(run, PageFilter(), most=PAGES).pages
        ],
    )


def without_user(url: str) -> str:
    return USER_INFORMATION.sub(f"{MASK}@", url)
