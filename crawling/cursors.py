"""Crawls and their runs by number, and lists of runs by pages that stand still while runs are added."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from crawling.counts import Counts, counts_of
from crawling.errors import NotThere, UnknownCrawl, UnknownRun
from crawling.idling import Why, why_idle
from crawling.models import CrawlJob, Page, Run
from crawling.models.jobs import WORKING_STATES
from crawling.paging import cut


@dataclass(frozen=True)
class RunView:
    """One run of a crawl, as `CrawlView` shows the latest."""

    number: int
    state: str
    reason: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    counts: Counts


def crawl_of(crawl_id: int) -> CrawlJob:
    """Raises UnknownCrawl."""
    crawl = CrawlJob.objects.filter(pk=crawl_id).first()
    if crawl is None:
        raise UnknownCrawl(f"There is no crawl {crawl_id}.")
    return crawl


def run_of(crawl_id: int, number: int | None) -> Run:
    """The run of that number, or the latest. Raises UnknownCrawl, UnknownRun."""
    runs = Run.objects.select_related("crawl").filter(crawl=crawl_of(crawl_id))
    run = (runs if number is None else runs.filter(number=number)).order_by("-pk").first()
    if run is None:
        raise UnknownRun(f"Crawl {crawl_id} has {'never been started' if number is None else f'no run {number}'}.")
    return run


def stored_page(crawl_id: int, page_id: int) -> Page:
    """A page of any of the crawl's runs, with what its archive file is found by. Raises NotThere."""
    page = Page.objects.select_related("url", "run__crawl", "archive_file").filter(pk=page_id, run__crawl=crawl_id).first()
    if page is None:
        raise NotThere(f"Crawl {crawl_id} has no page {page_id}.")
    return page


def list_runs(crawl: CrawlJob, *, before: int | None = None, limit: int) -> tuple[list[RunView], int | None]:
    """A page of the crawl's runs, the latest first, and the number to go on before."""
    found = crawl.runs.order_by("-number")
    found = found if before is None else found.filter(number__lt=before)
    runs, following = cut(list(found[: limit + 1]), limit, lambda run: run.number)
    counts = counts_of([run.pk for run in runs])
    idle = why_idle([run for run in runs if run.state in WORKING_STATES])
    views = [
        RunView(
            run.number,
            *idle.get(run.pk, Why(run.state, run.reason)),
            run.created_at,
            run.started_at,
            run.finished_at,
            counts[run.pk],
        )
        for run in runs
    ]
    return views, following
