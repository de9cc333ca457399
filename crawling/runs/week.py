"""The changes of crawls since last week: their runs, and the news about those runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from crawling.base.alert_events import AlertEvent
from crawling.installation.news import (
    WORDS,
    NewsItem,
    PendingNews,
    count_in_words,
    latest_news,
    pending_news,
    standing_of,
    unchecked_of,
)
from crawling.models import CrawlJob, Run, RunTotal
from crawling.models.jobs import ENDED_STATES

WEEK = timedelta(days=7)
#: the most news of a week that are read, for a crawl and for all crawls together
MOST_NEWS, MOST_NEWS_OF_ALL = 5_000, 50_000


@dataclass(frozen=True)
class WeekChange:
    kind: AlertEvent
    count: int
    #: the path of the page that shows the latest of these changes
    address: str

    @property
    def words(self) -> str:
        return count_in_words(self.kind, self.count)


@dataclass(frozen=True)
class CrawlWeek:
    crawl: int
    name: str
    #: the number of runs that ended in the week
    runs: int
    changes: Sequence[WeekChange]
    #: the number of pages of the week's latest run, and of the latest run before the week; None if
    #: there is no such run
    pages: int | None = None
    pages_before: int | None = None
    #: the id of the latest run of the week
    latest: int | None = None
    #: words for what is wrong in the latest run, if there is no run before the week to compare it
    #: with
    standing: Sequence[str] = ()
    #: sentences on what the latest run has not checked, in summaries
    unchecked: Sequence[str] = ()
    #: whether a complete run precedes a run of the week
    has_earlier: bool = True
    #: runs whose changes are not known yet
    pending: Sequence[PendingNews] = ()

    @property
    def quiet_words(self) -> str:
        """The statement for a week without changes; empty if there are changes, or may be some."""
        if self.changes or self.pending:
            return ""
        if self.has_earlier:
            return "No watched page changed, and no link broke or was fixed."
        told = "; ".join((*self.standing, "there is no earlier run to compare with."))
        return told[0].upper() + told[1:]

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
        nothing = "" if self.changes else "not compared yet" if self.pending else "nothing changed"
        return "; ".join(filter(None, (runs, self.pages_words, nothing)))


def week_of(crawl: CrawlJob, runs: Iterable[Run]) -> CrawlWeek | None:
    """The last seven days of a crawl. runs: its latest runs. None if none of these ended in that
    time.
    """
    until = timezone.now()
    since = until - WEEK
    if not any(
        run.state in ENDED_STATES and run.finished_at and run.finished_at >= since for run in runs
    ):
        return None
    news, _ = latest_news(since=since, until=until, crawl=crawl, most=MOST_NEWS)
    told = _weeks_of({crawl.pk: crawl.name}, {crawl.pk: news}, since, until, pending_news(crawl))
    return told[0]


class CrawlWeeks:
    """The seven days before a moment, for all crawls with news or with a run that ended then. The
    rows are read once for all readers.
    """

    def __init__(self, until: datetime) -> None:
        self._since, self._until = until - WEEK, until
        ended = Exists(_runs_ended_between(self._since, until).filter(crawl=OuterRef("pk")))
        self._names = dict(CrawlJob.objects.filter(ended).values_list("pk", "name"))
        self._news: dict[int, list[NewsItem]] = {pk: [] for pk in self._names}
        for item in latest_news(since=self._since, until=until, most=MOST_NEWS_OF_ALL)[0]:
            self._names[item.crawl] = item.name
            self._news.setdefault(item.crawl, []).append(item)
        self._pending = pending_news(most=MOST_NEWS)
        self._weeks: dict[int, CrawlWeek] = {}

    def of(self, crawls: Collection[int] | None, *, most: int) -> tuple[Sequence[CrawlWeek], int]:
        """The crawls with the most news first, and the number of further ones. crawls: only the
        crawls with these ids.
        """
        found = self._news.keys() if crawls is None else self._news.keys() & set(crawls)
        order = sorted(found, key=lambda pk: (-len(self._news[pk]), self._names[pk]))
        unread = {pk: self._names[pk] for pk in order[:most] if pk not in self._weeks}
        if unread:
            told = _weeks_of(unread, self._news, self._since, self._until, self._pending)
            left = unchecked_of([week.latest for week in told if week.latest])
            self._weeks |= {
                week.crawl: replace(week, unchecked=left.get(week.latest or 0, ())) for week in told
            }
        return [self._weeks[pk] for pk in order[:most]], len(order[most:])


def _weeks_of(
    names: Mapping[int, str],
    news: Mapping[int, Sequence[NewsItem]],
    since: datetime,
    until: datetime,
    pending: Sequence[PendingNews],
) -> list[CrawlWeek]:
    """The weeks of the crawls in `names`, in the same order."""
    facts = _facts_of_weeks(names, since, until)
    weeks = [
        CrawlWeek(
            pk,
            name,
            changes=_changes_by_kind(news[pk]),
            pending=[one for one in pending if one.crawl == pk],
            **facts.get(pk, {"runs": 0}),
        )
        for pk, name in names.items()
    ]
    return _add_standing_problems(weeks)


def _add_standing_problems(weeks: Sequence[CrawlWeek]) -> list[CrawlWeek]:
    """The weeks. A week with nothing to compare with gets `standing`: what is wrong now."""
    first = {
        week.latest
        for week in weeks
        if week.latest and not (week.has_earlier or week.changes or week.pending)
    }
    told = standing_of(first) if first else {}
    return [replace(week, standing=told.get(week.latest or 0, ())) for week in weeks]


def _changes_by_kind(items: Sequence[NewsItem]) -> list[WeekChange]:
    """The changes in the order of their kinds. items: the latest comes first."""
    counts = Counter[AlertEvent]()
    latest: dict[AlertEvent, str] = {}
    for item in items:
        counts[item.kind] += item.count
        latest.setdefault(item.kind, item.address)
    return [WeekChange(kind, counts[kind], latest[kind]) for kind in WORDS if counts[kind]]


def _facts_of_weeks(
    crawls: Iterable[int], since: datetime, until: datetime
) -> dict[int, dict[str, Any]]:
    """For each crawl, its number of runs in the week, and facts of two runs: of its latest in the
    week, and of its latest before the week. One query.
    """
    ended = _runs_ended_between(since, until).filter(crawl=OuterRef("pk"))
    runs = ended.order_by().values("crawl")
    earlier = Run.objects.filter(crawl=OuterRef("crawl"), number__lt=OuterRef("number"))
    earlier = earlier.filter(state="finished", removal_asked_at=None)
    totals = RunTotal.objects.filter(run__crawl=OuterRef("pk"), run__state__in=ENDED_STATES)
    totals = totals.filter(run__removal_asked_at=None).order_by("-run__number")
    now = totals.filter(run__finished_at__gte=since, run__finished_at__lt=until)
    before = totals.filter(run__finished_at__lt=since)
    rows = CrawlJob.objects.filter(pk__in=crawls).annotate(
        runs_of_week=Coalesce(Subquery(runs.annotate(n=Count("pk")).values("n")), 0),
        pages=Subquery(now.values("fetched")[:1]),
        pages_before=Subquery(before.values("fetched")[:1]),
        latest=Subquery(now.values("run")[:1]),
        has_earlier=Exists(ended.filter(Exists(earlier))),
    )
    names = ("pages", "pages_before", "latest", "has_earlier")
    return {
        row["pk"]: {"runs": row["runs_of_week"], **{name: row[name] for name in names}}
        for row in rows.values("pk", "runs_of_week", *names)
    }


def _runs_ended_between(since: datetime, until: datetime) -> QuerySet[Run]:
    return Run.objects.filter(
        state__in=ENDED_STATES,
        finished_at__gte=since,
        finished_at__lt=until,
        removal_asked_at=None,
    )
