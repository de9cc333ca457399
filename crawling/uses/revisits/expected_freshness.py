"""The expected results of a crawl's plan of revisits, and its pages sorted by rate or by next
visit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from django.db.models import F, Q, QuerySet, TextChoices

from crawling.base.errors import BadOrder
from crawling.base.timed import time_limit
from crawling.models import CrawlJob, PlannedRevisit, RevisitPlan
from serving.downloads import Download, row_file
from serving.listing.columns import Column, columns_of, row_of

#: the number of rows that a query reads
SLICE = 1_000
#: the most digits of a key that PostgreSQL stores in 64 bits
MOST_DIGITS = 18


class RevisitSort(TextChoices):
    """The orders in which pages are listed."""

    NEXT = "next", "Next visit first"
    RATE = "rate", "Changes most often first"


@dataclass(frozen=True)
class FreshnessFigures:
    """The figures for a crawl's pages, under one policy in the long run, or at one moment."""

    freshness: Annotated[
        float, Column("mean share of the time in which a page is as it was at its last visit")
    ]
    age_days: Annotated[
        float,
        Column("mean days since the first change that no visit has seen; 0 while a page is fresh"),
    ]

    @property
    def percent(self) -> float:
        return 100 * self.freshness


@dataclass(frozen=True)
class HostFreshness:
    host: str
    pages: int
    visits: float
    changes: float
    visits_a_day: float
    at_end: FreshnessFigures
    long_run: FreshnessFigures


@dataclass(frozen=True)
class RevisitRow:
    id: int
    url: str
    host: str
    visits: Annotated[int, Column("that compared it with an earlier answer")]
    changes: Annotated[int, Column("of those, that found it changed")]
    rate: Annotated[float, Column("changes a day, estimated")]
    low: Annotated[float, Column("lower end of an interval of 95 % for the rate")]
    high: Annotated[float, Column("its upper end")]
    wait_days: Annotated[float, Column("from one visit to the next")]
    visited_at: datetime
    next_at: Annotated[datetime, Column("the first run after it requests the page")]


#: the columns of a file
COLUMNS = [name for name in columns_of(RevisitRow) if name != "id"]


@dataclass(frozen=True)
class CrawlFreshness:
    #: the visits a day that the order allows; 0 without a budget, and then nothing is planned
    visits_a_day: int
    policy: str
    #: None if no run has ended since the order was changed, or the job is not done
    plan: RevisitPlan | None

    @property
    def at_end(self) -> FreshnessFigures | None:
        return FreshnessFigures(**self.plan.at_end) if self.plan else None

    @property
    def policies(self) -> Mapping[str, FreshnessFigures]:
        """The figures of each policy in the long run, all with the same budget."""
        found = self.plan.policies if self.plan else {}
        return {name: FreshnessFigures(**means) for name, means in found.items()}

    @property
    def hosts(self) -> list[HostFreshness]:
        """The hosts with the most pages."""
        return [_host_freshness(row) for row in self.plan.hosts] if self.plan else []


def freshness_of(crawl: CrawlJob) -> CrawlFreshness:
    plan = RevisitPlan.objects.filter(crawl=crawl).first()
    reuse = crawl.order.reuse
    return CrawlFreshness(reuse.visits_a_day, reuse.visit_policy, plan)


def list_revisits(
    crawl: CrawlJob,
    sort: RevisitSort,
    *,
    text: str = "",
    host: str = "",
    after: str = "",
    most: int,
) -> tuple[list[RevisitRow], str | None]:
    """The pages of a host with a text in their address, and the key after which more follow. Raises
    BadOrder or SearchTookTooLong.
    """
    found = PlannedRevisit.objects.filter(crawl=crawl)
    if text:
        found = found.filter(url__icontains=text)
    if host:
        found = found.filter(host=host)
    if after:
        found = found.filter(_pages_after(sort, after))
    with time_limit():
        rows = list(_sorted_revisits(found, sort, bool(text))[: most + 1])
    found_rows = [row_of(RevisitRow, row) for row in rows[:most]]
    return found_rows, _cursor_of_row(rows[most - 1], sort) if len(rows) > most else None


def revisits_file(
    crawl: CrawlJob, kind: str, sort: RevisitSort, *, text: str = "", host: str = ""
) -> Download:
    """A file with all pages that `list_revisits` would list, as csv or jsonl."""
    rows = _page_rows(crawl, sort, text, host)
    return row_file(f"crawl-{crawl.pk}-freshness", kind, rows, COLUMNS)


def _page_rows(
    crawl: CrawlJob, sort: RevisitSort, text: str, host: str
) -> Iterator[dict[str, Any]]:
    after: str | None = ""
    while after is not None:
        rows, after = list_revisits(crawl, sort, text=text, host=host, after=after, most=SLICE)
        for row in rows:
            yield {name: getattr(row, name) for name in COLUMNS}


def _sorted_revisits(
    found: QuerySet[PlannedRevisit], sort: RevisitSort, is_search: bool
) -> QuerySet[PlannedRevisit]:
    """The pages in the order of an index. A search does not use that order: PostgreSQL would expect
    enough matching rows soon, and if there are none, would read all rows four times as slowly.
    """
    if not is_search:
        return found.order_by(
            *(("next_at", "pk") if sort == RevisitSort.NEXT else ("-rate", "-pk"))
        )
    if sort == RevisitSort.NEXT:
        return found.order_by(F("next_at") + timedelta(0), "pk")
    return found.order_by((F("rate") + 0).desc(), "-pk")


def _cursor_of_row(row: PlannedRevisit, sort: RevisitSort) -> str:
    value = row.next_at.isoformat() if sort == RevisitSort.NEXT else repr(row.rate)
    return f"{value}_{row.pk}"


def _pages_after(sort: RevisitSort, after: str) -> Q:
    """The condition on pages after a place. By its first part PostgreSQL finds the place in the
    index.
    """
    value, _, key = after.partition("_")
    if not (key.isascii() and key.isdigit() and len(key) <= MOST_DIGITS):
        raise _bad_cursor()
    try:
        if sort == RevisitSort.NEXT:
            moment = datetime.fromisoformat(value).astimezone(UTC)
            return Q(next_at__gte=moment) & (Q(next_at__gt=moment) | Q(pk__gt=int(key)))
        rate = float(value)
        return Q(rate__lte=rate) & (Q(rate__lt=rate) | Q(pk__lt=int(key)))
    except (ValueError, OverflowError) as error:
        raise _bad_cursor() from error


def _bad_cursor() -> BadOrder:
    return BadOrder({"cursor": "It is no `next` of a page before."})


def _host_freshness(row: Mapping[str, Any]) -> HostFreshness:
    sums = {name: row[name] for name in ("host", "pages", "visits", "changes", "visits_a_day")}
    return HostFreshness(
        **sums,
        at_end=FreshnessFigures(row["freshness_at_end"], row["age_days_at_end"]),
        long_run=FreshnessFigures(row["freshness"], row["age_days"]),
    )
