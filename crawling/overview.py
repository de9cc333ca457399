"""Crawls at a glance: how many are in each state, which work, which wait and on what, which somebody has to see to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from crawling.idling import Why, waiting_runs, why_idle
from crawling.listing import state_counts
from crawling.models import CrawlJob, Run, RunCount, Shift
from crawling.models.jobs import WORKING_STATES, RunState
from crawling.rules.stalls import QUIET_SECONDS
from crawling.run_page.rates import rates_now
from crawling.selectors import CrawlView, crawl_views

SOME = 8
MOST_WORRIES = 5
RECENT = timedelta(days=1)


@dataclass(frozen=True)
class AtWork:
    """A crawl that is fetching, and how many pages a second."""

    crawl: CrawlJob
    view: CrawlView
    rate: float | None


@dataclass(frozen=True)
class Idle:
    """A crawl that waits or rests, and on what."""

    crawl: CrawlJob
    why: Why


@dataclass(frozen=True)
class Worry:
    """A crawl that needs attention: it failed, paused by itself, or has fallen silent."""

    crawl: CrawlJob
    word: str
    sentence: str


@dataclass(frozen=True)
class CrawlsNow:
    """`states`: crawls by state, those of none left out; the lists are the first few of theirs, the numbers all.

    working: crawls with a live shift. waiting: those that the state *waiting* counts. resting: all others that are to
    work, such as those between two shifts; working + resting = queued + running of `states`.
    """

    states: dict[str, int]
    at_work: Sequence[AtWork]
    working: int
    idle: Sequence[Idle]
    waiting: int
    resting: int
    worries: Sequence[Worry]
    worried: int
    pages_per_second: float


def crawls_now() -> CrawlsNow:
    """In a fixed number of queries, and reading no crawl that has ended but those that failed of late."""
    waiting = waiting_runs()
    live = list(Run.objects.filter(state__in=WORKING_STATES).select_related("crawl").order_by("pk"))
    working = set(Shift.objects.filter(process__run__in=live, ended_at=None).values_list("process__run", flat=True))
    rates = rates_now(working)
    busy = sorted((run for run in live if run.pk in working), key=lambda run: -(rates.get(run.pk) or 0))
    idle = sorted((run for run in live if run.pk not in working), key=lambda run: run.pk not in waiting)
    views = crawl_views([run.crawl for run in busy[:SOME]])
    reasons = why_idle(idle[:SOME])
    worries = _worries()
    return CrawlsNow(
        states=state_counts(waiting),
        at_work=[AtWork(run.crawl, view, rates.get(run.pk)) for run, view in zip(busy[:SOME], views, strict=True)],
        working=len(busy),
        idle=[Idle(run.crawl, reasons.get(run.pk, Why(run.state, run.reason))) for run in idle[:SOME]],
        waiting=sum(run.pk in waiting for run in idle),
        resting=sum(run.pk not in waiting for run in idle),
        worries=worries[:MOST_WORRIES],
        worried=len(worries),
        pages_per_second=round(sum(rates.values()), 1),
    )


def _worries() -> list[Worry]:
    """Troubles first, then what failed within a day. At most a hundred of each are read."""
    now = timezone.now()
    quiet_since = now - timedelta(seconds=QUIET_SECONDS)
    alive = Shift.objects.filter(process__run=OuterRef("pk"), ended_at=None, started_at__lt=quiet_since)
    heard = RunCount.objects.filter(run=OuterRef("pk"), minute__gte=quiet_since - timedelta(minutes=1))
    latest = Run.objects.filter(is_latest=True).select_related("crawl").order_by("-pk")
    paused = latest.filter(~Q(trouble=""), state__in=[RunState.PAUSED, RunState.PAUSING])[:100]
    silent = latest.filter(Exists(alive), ~Exists(heard), state=RunState.RUNNING)[:100]
    failed = latest.filter(state=RunState.FAILED, finished_at__gte=now - RECENT)[:100]
    return [
        *(Worry(run.crawl, "paused", run.trouble) for run in paused),
        *(Worry(run.crawl, "running", "Its shift has written nothing for five minutes.") for run in silent),
        *(Worry(run.crawl, "failed", run.reason) for run in failed),
    ]
