"""The browsers that render pages: their pages and memory, and how many renderings ended early."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from redis.exceptions import RedisError

from allocation.models import ResourceClass
from crawling.jobs.rq_jobs import live_browsers
from crawling.machine.browser import BrowserUnits
from crawling.models import Run, RunRendering
from crawling.models.jobs import ENDED_STATES
from crawling.orders.claims import BROWSER_MEMORY, BROWSER_PAGES, OF_BROWSERS
from crawling.orders.fields import MIB
from crawling.orders.rendering import explain_rendering

#: the runs that are counted: the active ones, and those that ended within this time
COUNTED = timedelta(days=1)
#: the latest of these runs, since thousands may end in a day
MOST_RUNS = 1_000


@dataclass(frozen=True)
class FailedRenderings:
    status: int
    sentence: str
    pages: int


@dataclass(frozen=True)
class BrowserReport:
    #: that may be open at the same time, and that are granted to crawls
    pages: int
    open_pages: int
    #: the memory of these pages
    mebibytes: int
    granted_mebibytes: int
    #: the pages that the counted runs have rendered
    rendered: int
    #: the pages of these runs that were not rendered to the end, the most frequent reason first
    ended: tuple[FailedRenderings, ...]

    @property
    def ended_pages(self) -> int:
        return sum(one.pages for one in self.ended)

    @property
    def bytes(self) -> int:
        return self.mebibytes * MIB

    @property
    def granted_bytes(self) -> int:
        return self.granted_mebibytes * MIB


def granted_and_used_units() -> tuple[BrowserUnits, BrowserUnits]:
    """The capacity of all pools, and what of it is granted."""
    units, granted = Counter[str](), Counter[str]()
    for one in ResourceClass.objects.filter(key__in=OF_BROWSERS).select_related("pool"):
        capacity, available = (row[one.ordinal] for row in (one.pool.capacity, one.pool.available))
        units[one.key] += capacity
        granted[one.key] += capacity - available
    return (
        BrowserUnits(units[BROWSER_PAGES], units[BROWSER_MEMORY]),
        BrowserUnits(granted[BROWSER_PAGES], granted[BROWSER_MEMORY]),
    )


def browser_report() -> BrowserReport:
    """The units of the workers' browsers, those that pools have granted, and the counts of runs of
    the last day. Without Redis, the capacity of the pools counts for the workers' browsers.
    """
    capacity, granted = granted_and_used_units()
    try:
        live = live_browsers()
    except RedisError:
        live = capacity
    rendered, ended = 0, Counter[str]()
    latest = RunRendering.objects.order_by("-pk").values("pk")[:MOST_RUNS]
    recent = Q(run__finished_at=None) | Q(run__finished_at__gt=timezone.now() - COUNTED)
    runs = RunRendering.objects.filter(recent, pk__in=latest)
    for pages, early in runs.values_list("pages", "ended"):
        rendered += pages
        ended.update(early)
    return BrowserReport(
        live.pages,
        granted.pages,
        live.mebibytes,
        granted.mebibytes,
        rendered,
        tuple(
            FailedRenderings(int(status), explain_rendering(int(status)), pages)
            for status, pages in ended.most_common()
        ),
    )


def is_browser_wanted() -> bool:
    """Whether an active run claims a browser."""
    claims = {f"crawl__claim__{BROWSER_PAGES}__gt": 0}
    return Run.objects.exclude(state__in=ENDED_STATES).filter(**claims).exists()
