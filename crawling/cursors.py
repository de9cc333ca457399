"""Crawls and runs in lists, by pages that stand still while crawls are added. A fixed number of queries a page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Value
from django.db.models.functions import Upper

from crawling.errors import UnknownCrawl, UnknownRun
from crawling.idling import Why, waiting_runs, why_idle
from crawling.listing import SHORTEST_PIECE, Wanted, found_crawls
from crawling.models import CrawlJob, Run
from crawling.models.jobs import SEARCHED, WORKING_STATES, RunState
from crawling.selectors import Counts, CrawlView, counts_of, crawl_views

DRAFT, WAITING = "draft", "waiting"
#: what a crawl may be shown as
STATES = (DRAFT, WAITING, *RunState.values)


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


def list_crawls(
    *, state: str = "", text: str = "", tag: str = "", before: int | None = None, limit: int
) -> tuple[list[CrawlView], int | None]:
    """A page of crawls, the newest first, and the id to go on before; None at the end.

    text: part of the name, in any case.
    """
    # Whether a run at work waits follows from the bank.
    found = found_crawls(Wanted(state=state, tag=tag), waiting_runs() if state in (WAITING, *WORKING_STATES) else ())
    if len(text) >= SHORTEST_PIECE:  # names are part of what is indexed
        found = found.annotate(words=SEARCHED).filter(words__contains=Upper(Value(text)))
    if text:
        found = found.filter(name__icontains=text)
    if before is not None:
        found = found.filter(pk__lt=before)
    rows = list(found.order_by("-pk")[: limit + 1])
    return crawl_views(rows[:limit]), rows[limit - 1].pk if len(rows) > limit else None


def list_runs(crawl: CrawlJob, *, before: int | None = None, limit: int) -> tuple[list[RunView], int | None]:
    """A page of the crawl's runs, the latest first, and the number to go on before."""
    found = crawl.runs.order_by("-number")
    rows = list((found if before is None else found.filter(number__lt=before))[: limit + 1])
    runs = rows[:limit]
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
    return views, runs[-1].number if len(rows) > limit else None
