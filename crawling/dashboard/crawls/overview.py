"""All crawls at a glance: the number in each state, working crawls, waiting crawls with the reason,
and crawls that need an operator.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from django.db.models import Exists, F, OuterRef, Q, Value
from django.utils import timezone

from crawling.dashboard.base.crawl_views import CrawlView, crawl_views
from crawling.dashboard.crawls.state_counts import live_counts
from crawling.dashboard.run.rates import rates_now
from crawling.models import CrawlJob, Run, RunCount, Shift
from crawling.models.jobs import WORKING_STATES, RunState
from crawling.runs.diagnosis import QUIET_SECONDS
from crawling.runs.wait_reason import WaitReason, wait_reasons, waiting_runs

SOME = 8
MOST_WORRIES, MOST_ENDED = 5, 5
RECENT = timedelta(days=1)


@dataclass(frozen=True)
class ActiveCrawl:
    crawl: CrawlJob
    view: CrawlView
    rate: float | None


@dataclass(frozen=True)
class IdleCrawl:
    crawl: CrawlJob
    why: WaitReason


@dataclass(frozen=True)
class CrawlProblem:
    """A crawl that needs attention: it failed, was paused automatically, or does not make
    progress.
    """

    #: the crawl's id and name
    crawl: int
    name: str
    word: str
    sentence: str


@dataclass(frozen=True)
class CrawlsOverview:
    """All crawls. The numbers count all crawls, and the lists have the first few of each kind.

    working + resting = queued + running.
    """

    #: the waiting runs, each with its state
    waits: Mapping[int, str]
    at_work: Sequence[ActiveCrawl]
    #: crawls with a live shift
    working: int
    idle: Sequence[IdleCrawl]
    #: crawls in the state *waiting*
    waiting: int
    #: the number of these that wait for resources, the same number that `allocation` calls waiting
    for_resources: int
    #: all other crawls that should work, such as those between two shifts
    resting: int
    #: the crawls that ended last
    ended: Sequence[CrawlView]
    worries: Sequence[CrawlProblem]
    worried: int
    pages_per_second: float

    @property
    def for_hosts(self) -> int:
        """Waiting crawls that wait for a host."""
        return self.waiting - self.for_resources

    @property
    def any_at_all(self) -> bool:
        return CrawlJob.objects.exists()


def read_overview() -> CrawlsOverview:
    """Read the overview in a fixed number of queries.

    The rates of all working crawls are read, and those of waiting or resting crawls only if they
    are shown.
    """
    waiting = waiting_runs()
    states, first = live_counts(waiting), list(islice(waiting, SOME))
    live = Shift.objects.filter(ended_at=None, process__run__state__in=WORKING_STATES)
    working = set(live.values_list("process__run", flat=True))
    rates = rates_now(working)
    fastest = sorted(working, key=lambda run: (-(rates.get(run) or 0), run))[:SOME]
    runs = Run.objects.select_related("crawl").in_bulk([*fastest, *first])
    busy = [runs[pk] for pk in fastest if pk in runs]
    idle = [runs[pk] for pk in first if pk in runs]
    idle += _first_resting_runs({*waiting, *working}, SOME - len(idle))
    views = crawl_views([run.crawl for run in busy], latest=busy)
    reasons = wait_reasons(idle)
    worries = crawl_problems()
    return CrawlsOverview(
        waits=waiting,
        at_work=[
            ActiveCrawl(run.crawl, view, rates.get(run.pk))
            for run, view in zip(busy, views, strict=True)
        ],
        working=len(working),
        idle=[
            IdleCrawl(run.crawl, reasons.get(run.pk, WaitReason(run.state, run.reason)))
            for run in idle
        ],
        waiting=states.get("waiting", 0),
        for_resources=min(waiting.for_resources, states.get("waiting", 0)),
        resting=max(0, sum(states.get(state, 0) for state in WORKING_STATES) - len(working)),
        ended=_last_ended_crawls(),
        worries=worries[:MOST_WORRIES],
        worried=len(worries),
        pages_per_second=round(sum(rates.values()), 1),
    )


def _last_ended_crawls() -> Sequence[CrawlView]:
    """The crawls that ended last, in two queries."""
    latest = Run.objects.filter(is_latest=True, finished_at__isnull=False)
    runs = list(latest.select_related("crawl").order_by("-finished_at", "-pk")[:MOST_ENDED])
    return crawl_views([run.crawl for run in runs], latest=runs)


def _first_resting_runs(others: Collection[int], most: int) -> list[Run]:
    """The first runs that have no shift and do not wait. others: all runs that have a shift or
    wait.
    """
    if not most:
        return []
    return list(
        Run.objects.filter(state__in=WORKING_STATES)
        .exclude(pk__in=others)
        .select_related("crawl")
        .order_by("pk")[:most]
    )


def crawl_problems() -> list[CrawlProblem]:
    """Crawls with troubles, then crawls that failed within a day. At most a hundred of each kind
    are read.
    """
    now = timezone.now()
    quiet_since = now - timedelta(seconds=QUIET_SECONDS)
    alive = Shift.objects.filter(
        process__run=OuterRef("pk"), ended_at=None, started_at__lt=quiet_since
    )
    heard = RunCount.objects.filter(
        run=OuterRef("pk"), minute__gte=quiet_since - timedelta(minutes=1)
    )
    latest = Run.objects.filter(is_latest=True).order_by("-pk")
    paused = latest.filter(~Q(trouble=""), state__in=[RunState.PAUSED, RunState.PAUSING])
    silent = latest.filter(Exists(alive), ~Exists(heard), state=RunState.RUNNING)
    failed = latest.filter(state=RunState.FAILED, finished_at__gte=now - RECENT)
    quiet = Value("Its work session has written nothing for five minutes.")
    return [
        CrawlProblem(crawl, name, word, sentence)
        for word, runs, told in (
            ("paused", paused, F("trouble")),
            ("running", silent, quiet),
            ("failed", failed, F("reason")),
        )
        for crawl, name, sentence in runs.values_list("crawl", "crawl__name", told)[:100]
    ]
