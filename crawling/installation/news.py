"""News: the fate of pages and links between runs, as uses of crawls have found it.

A use offers sources as `NEWS` in its module `news`. News are read from the tables of their uses and
stored nowhere else, so rows that are withdrawn or deleted there are no longer news.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeVar

from django.db.models import Model, QuerySet, TextField, Value
from django.utils import timezone

from crawling.base.alert_events import AlertEvent
from crawling.base.use import offered_by_uses
from crawling.models import CrawlJob, Run
from serving.listing.columns import Column

M = TypeVar("M", bound=Model)
#: older news are only in the history of their crawl
KEPT = timedelta(days=30)
#: for each source, the most runs without known news that a page names
MOST_PENDING = 20
#: the singular and plural words for each kind
WORDS = {
    AlertEvent.PAGE_CHANGED: ("watched page changed", "watched pages changed"),
    AlertEvent.PAGE_GONE: ("watched page gone", "watched pages gone"),
    AlertEvent.PAGE_NEW: ("new page watched", "new pages watched"),
    AlertEvent.LINKS_BROKEN: ("new broken link", "new broken links"),
    AlertEvent.LINKS_FIXED: ("broken link fixed", "broken links fixed"),
}


def count_in_words(kind: AlertEvent, count: int) -> str:
    """`2 new broken links`."""
    return f"{count:,} {WORDS[kind][count != 1]}"


@dataclass(frozen=True)
class NewsItem:
    """The news of one kind about one run."""

    at: Annotated[datetime, Column("when it was found")]
    crawl: int
    name: Annotated[str, Column("of the crawl")]
    run: Annotated[int, Column("number of the run")]
    kind: AlertEvent
    count: int
    address: Annotated[str, Column("path of the page that shows them")]

    @property
    def words(self) -> str:
        return count_in_words(self.kind, self.count)


@dataclass(frozen=True)
class RunNews:
    """The news of one run."""

    items: Sequence[NewsItem]

    @property
    def first(self) -> NewsItem:
        return self.items[0]


def by_run(items: Iterable[NewsItem]) -> list[RunNews]:
    """The news by run, in the order of each run's latest news. News of one run are in the order of
    kinds.
    """
    runs: dict[tuple[int, int], list[NewsItem]] = {}
    for item in items:
        runs.setdefault((item.crawl, item.run), []).append(item)
    order = list(WORDS)
    return [
        RunNews(sorted(some, key=lambda item: order.index(item.kind))) for some in runs.values()
    ]


def _nothing(runs: Collection[int]) -> Mapping[int, str]:
    return {}


@dataclass(frozen=True)
class NewsSource:
    #: finds news between two times (after the first, up to the second), of one crawl or of all, the
    #: latest first, with a limit on their number
    find: Callable[[datetime, datetime | None, CrawlJob | None, int], Iterable[NewsItem]]
    #: finds ended runs whose news are not known yet, of one crawl or of all, the latest first
    pending: Callable[[CrawlJob | None], QuerySet[Run]]
    #: the name of the comparison that these runs still lack
    label: str
    #: from ids of runs to words for what is wrong in each, whether it is news or not
    standing: Callable[[Collection[int]], Mapping[int, str]] = _nothing
    #: from ids of runs to a sentence on what each has not checked
    unchecked: Callable[[Collection[int]], Mapping[int, str]] = _nothing


@dataclass(frozen=True)
class PendingNews:
    """A run that has ended and is not compared yet."""

    crawl: int
    name: str
    run: int
    #: the names of the comparisons that it still lacks
    labels: Sequence[str]

    @property
    def words(self) -> str:
        return f"Run {self.run} is not compared yet: {' and '.join(self.labels)}."


def pending_news(crawl: CrawlJob | None = None, *, most: int = MOST_PENDING) -> list[PendingNews]:
    """The latest runs whose news are not known yet, `most` of each source, the latest first. One
    query.
    """
    labels: dict[tuple[int, str, int], list[str]] = {}
    sources = [
        source.pending(crawl)
        .annotate(label=Value(source.label, TextField()))
        .values_list("finished_at", "crawl", "crawl__name", "number", "label")[:most]
        for source in offered_by_uses("news", "NEWS")
    ]
    if not sources:
        return []
    first, *others = sources
    for _, crawl_of, name, run, label in first.union(*others, all=True).order_by(
        "-finished_at", "crawl", "number", "label"
    ):
        labels.setdefault((crawl_of, name, run), []).append(label)
    return [PendingNews(*row, told) for row, told in labels.items()]


def standing_of(runs: Collection[int]) -> dict[int, list[str]]:
    """By ids of runs, words for what is wrong in each, of all sources."""
    return _joined_words(source.standing(runs) for source in offered_by_uses("news", "NEWS"))


def unchecked_of(runs: Collection[int]) -> dict[int, list[str]]:
    """By ids of runs, sentences on what each has not checked, of all sources."""
    return _joined_words(source.unchecked(runs) for source in offered_by_uses("news", "NEWS"))


def _joined_words(told: Iterable[Mapping[int, str]]) -> dict[int, list[str]]:
    found = defaultdict[int, list[str]](list)
    for words in told:
        for run, one in words.items():
            found[run].append(one)
    return found


def latest_news(
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    crawl: CrawlJob | None = None,
    after: str = "",
    most: int,
) -> tuple[list[NewsItem], str | None]:
    """The news, the latest first, and the key after which more follow. Takes one query for each
    source.

    after: such a key. An invalid key is ignored.
    """
    begin = since or timezone.now() - KEPT
    place = _read_place(after) or ((until, "") if until else None)
    found = [
        item
        for source in offered_by_uses("news", "NEWS")
        # for each kind, one more is read, which may have exactly the time of the key
        for item in source.find(begin, place and place[0], crawl, most + 1 + len(WORDS))
        if place is None or _sort_key(item) < place
    ]
    found.sort(key=_sort_key, reverse=True)
    if len(found) <= most:
        return found, None
    last = found[most - 1]
    return found[:most], f"{last.at.isoformat()} {last.kind}"


def news_times() -> list[datetime]:
    """The times at which news were found, the latest first."""
    return [item.at for item in latest_news(most=MOST_TIMES)[0]]


#: the most news that the bell counts
MOST_TIMES = 100


def _sort_key(item: NewsItem) -> tuple[datetime, str]:
    return item.at, str(item.kind)


def _read_place(after: str) -> tuple[datetime, str] | None:
    at, _, kind = after.partition(" ")
    try:
        until = datetime.fromisoformat(at)
        # with its offset it may be a time that the database cannot represent
        return (until.astimezone(UTC), kind) if until.tzinfo else None
    except (ValueError, OverflowError):
        return None


def rows_of_shown_runs(found: QuerySet[M], crawl: CrawlJob | None) -> QuerySet[M]:
    """Rows with a `run`, without rows of deleted runs and crawls. crawl: only rows of this
    crawl.
    """
    shown = found.filter(run__removal_asked_at=None, run__crawl__removal_asked_at=None)
    return shown if crawl is None else shown.filter(run__crawl=crawl)


def shown_runs(found: QuerySet[Run], crawl: CrawlJob | None) -> QuerySet[Run]:
    """Runs, without deleted ones and those of deleted crawls. crawl: only runs of this crawl."""
    shown = found.filter(removal_asked_at=None, crawl__removal_asked_at=None)
    return shown if crawl is None else shown.filter(crawl=crawl)
