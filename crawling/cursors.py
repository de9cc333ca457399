"""Crawls and runs in lists, by pages that stand still while crawls are added. A fixed number of queries a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery

from crawling.errors import UnknownCrawl, UnknownRun
from crawling.idling import Why, why_idle
from crawling.models import CrawlJob, Run
from crawling.models.jobs import WORKING_STATES, RunState
from crawling.selectors import Counts, CrawlView, counts_of, crawl_views

DRAFT, WAITING = "draft", "waiting"
#: what a crawl may be shown as
STATES = (DRAFT, WAITING, *RunState.values)
#: whether a run at work waits follows from the bank, so such crawls are looked at, so many at a time
LOOKED_AT = 500


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

    text: part of the name, in any case. A page may hold fewer than `limit` although there are more: where only looking
    tells the state, one page looks at LOOKED_AT crawls.
    """
    latest = Run.objects.filter(crawl=OuterRef("pk"), is_latest=True)
    found = CrawlJob.objects.annotate(run_state=Subquery(latest.values("state")))
    if tag:
        found = found.filter(tags__contains=[tag])
    if text:
        found = found.filter(name__icontains=text)
    if before is not None:
        found = found.filter(pk__lt=before)
    if state == DRAFT:
        found = found.filter(run_state=None)
    elif state == WAITING or state in WORKING_STATES:
        return _by_look(found.filter(run_state__in=WORKING_STATES), lambda view: view.state == state, limit)
    elif state:
        found = found.filter(run_state=state)
    rows = list(found.order_by("-pk")[: limit + 1])
    return crawl_views(rows[:limit]), rows[limit - 1].pk if len(rows) > limit else None


def _by_look(found: QuerySet[CrawlJob], is_wanted: Callable[[CrawlView], bool], limit: int) -> tuple[list[CrawlView], int | None]:
    rows = list(found.order_by("-pk")[: LOOKED_AT + 1])
    looked_at = rows[:LOOKED_AT]
    wanted = [view for view in crawl_views(looked_at) if is_wanted(view)]
    if len(wanted) > limit:
        return wanted[:limit], wanted[limit - 1].id
    return wanted, looked_at[-1].pk if len(rows) > LOOKED_AT else None


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
