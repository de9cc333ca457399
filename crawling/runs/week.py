"""The changes of crawls since last week: their runs, and the news of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count
from django.utils import timezone

from crawling.base.alert_events import AlertEvent
from crawling.installation.news import WORDS, NewsItem, counted, latest_news
from crawling.models import CrawlJob, Run, RunTotal
from crawling.models.jobs import ENDED_STATES

WEEK = timedelta(days=7)
#: news of a week that are read
MOST_NEWS = 5_000


@dataclass(frozen=True)
class WeekChange:
    kind: AlertEvent
    count: int
    #: path of the page that shows the latest of them
    address: str

    @property
    def words(self) -> str:
        return counted(self.kind, self.count)


@dataclass(frozen=True)
class CrawlWeek:
    crawl: int
    name: str
    #: that ended in the week
    runs: int
    changes: Sequence[WeekChange]
    #: fetched by the latest run of the week, and by the latest before it; None: there is none
    pages: int | None = None
    pages_before: int | None = None

    @property
    def pages_words(self) -> str:
        """`84 pages, 3 more than before`."""
        if self.pages is None:
            return ""
        told = f"{self.pages:,} page{'s' * (self.pages != 1)}"
        more = 0 if self.pages_before is None else self.pages - self.pages_before
        if not more:
            return told + (", as many as before" if self.pages_before is not None else "")
        return f"{told}, {abs(more):,} {'more' if more > 0 else 'fewer'} than before"

    @property
    def words(self) -> str:
        """`3 runs; 84 pages, 3 more than before; nothing changed`."""
        runs = f"{self.runs:,} run{'s' * (self.runs != 1)}"
        nothing = "" if self.changes else "nothing changed"
        return "; ".join(filter(None, (runs, self.pages_words, nothing)))


def week_of(crawl: CrawlJob) -> CrawlWeek | None:
    """The last seven days of a crawl; None: no run of it has ended in them."""
    return next(iter(weeks(timezone.now(), crawl=crawl, most=1)[0]), None)


def weeks(
    until: datetime, *, crawl: CrawlJob | None = None, most: int
) -> tuple[Sequence[CrawlWeek], int]:
    """The seven days until then of crawls of which a run has ended or news were found, those with
    most news first; and how many others there are.
    """
    since = until - WEEK
    ended = Run.objects.filter(
        state__in=ENDED_STATES, finished_at__gte=since, finished_at__lt=until
    )
    ended = ended.filter(removal_asked_at=None, crawl__removal_asked_at=None)
    ended = ended.filter(crawl=crawl) if crawl else ended
    runs = dict(ended.order_by().values_list("crawl").annotate(runs=Count("pk")))
    names = dict(CrawlJob.objects.filter(pk__in=runs).values_list("pk", "name"))
    news, _ = latest_news(since=since, until=until, crawl=crawl, most=MOST_NEWS)
    by_crawl: dict[int, list[NewsItem]] = {pk: [] for pk in runs}
    for item in news:
        names[item.crawl] = item.name
        by_crawl.setdefault(item.crawl, []).append(item)
    order = sorted(by_crawl, key=lambda pk: (-len(by_crawl[pk]), names.get(pk, "")))
    shown = [
        CrawlWeek(
            pk,
            names.get(pk, ""),
            runs.get(pk, 0),
            _changes(by_crawl[pk]),
            *_pages(pk, since, until),
        )
        for pk in order[:most]
    ]
    return shown, len(order) - len(shown)


def _changes(items: Sequence[NewsItem]) -> list[WeekChange]:
    """In the order of kinds. items: the latest first."""
    counts = Counter[AlertEvent]()
    latest: dict[AlertEvent, str] = {}
    for item in items:
        counts[item.kind] += item.count
        latest.setdefault(item.kind, item.address)
    return [WeekChange(kind, counts[kind], latest[kind]) for kind in WORDS if counts[kind]]


def _pages(crawl: int, since: datetime, until: datetime) -> tuple[int | None, int | None]:
    totals = RunTotal.objects.filter(run__crawl=crawl, run__state__in=ENDED_STATES)
    totals = totals.filter(run__removal_asked_at=None).order_by("-run__number")
    of: Mapping[str, datetime] = {"run__finished_at__gte": since, "run__finished_at__lt": until}
    now = totals.filter(**of).values_list("fetched", flat=True).first()
    before = totals.filter(run__finished_at__lt=since).values_list("fetched", flat=True).first()
    return now, before
