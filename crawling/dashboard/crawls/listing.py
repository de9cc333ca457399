"""The list of crawls: searched, sorted and paged by the database."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from crawling.dashboard.base.crawl_views import CrawlView, crawl_views
from crawling.dashboard.crawls.filter import (
    BY_COUNTS,
    COUNTED,
    CrawlFilter,
    found_crawls,
    without_sums,
)
from crawling.dashboard.crawls.state_counts import CrawlCount, found_counts, found_ids
from crawling.frontier.run_counts import SETTLED
from crawling.models import CrawlJob, HostQueue, RunState, Url, UrlState
from crawling.runs.wait_reason import waiting_runs
from serving.downloads import Download, row_file
from serving.paging import cut_to_limit

#: the number of crawls that are read at a time for a file
CHUNK = 200
CRAWLS_PER_PAGE = 25
#: the most crawls that can be sorted by counts; for this the counts of every found crawl are added
#: up
MOST_SUMMED = 5000


@dataclass(frozen=True)
class CrawlTotals:
    """Sums over the latest runs of all crawls that a filter finds."""

    fetched: int
    known: int
    queued: int
    failed: int
    excluded: int
    size: int


@dataclass(frozen=True)
class Listing:
    crawls: Sequence[tuple[CrawlJob, CrawlView]]
    #: the id of the crawl after which the next page begins; None if there is none
    following: int | None
    #: the number of crawls that match the search, the tag and the span, by state; None for a state
    #: with too many to be counted. Empty states are left out
    states: dict[str, CrawlCount | None]
    found: CrawlCount
    #: the number of the found crawls that are in the wanted state
    matching: CrawlCount
    #: whether the found crawls are few enough to be sorted by counts
    sums: bool
    any_at_all: bool
    #: the totals of all crawls that match; None if the crawls are too many, or at most one
    totals: CrawlTotals | None = None


def list_crawls(wanted: CrawlFilter, *, most: int = CRAWLS_PER_PAGE) -> Listing:
    """Find a page of crawls in a fixed number of queries."""
    waiting = waiting_runs()
    states, found = found_counts(wanted, waiting)
    among: list[int] | None = None
    matching = states.get(wanted.state, CrawlCount(0)) if wanted.state else found
    if matching is None:
        matching, among = found_ids(wanted, waiting)
    sums = matching.number <= MOST_SUMMED
    crawls, following = crawls_and_next(
        wanted if sums else without_sums(wanted), waiting, most, among
    )
    return Listing(
        crawls=crawls,
        following=following,
        states=states,
        found=found,
        matching=matching,
        sums=sums,
        any_at_all=bool(found.number) or CrawlJob.objects.exists(),
        totals=_totals(wanted, waiting, among) if sums and matching.number > 1 else None,
    )


def crawls_and_next(
    wanted: CrawlFilter,
    waiting: Collection[int],
    most: int,
    among: Collection[int] | None = None,
) -> tuple[list[tuple[CrawlJob, CrawlView]], int | None]:
    """Up to `most` wanted crawls, and the id to continue after (None at the end).

    waiting: the waiting runs. among: all found ids, if they are known.
    """
    rows = _in_order(found_crawls(wanted, waiting, among), wanted.sort)
    # The ids are read first, so that the sorted rows are short, however long the lists of seeds
    # are.
    ids, following = cut_to_limit(_first_ids(_indexed_parts(rows, wanted), most + 1), most, int)
    shown = CrawlJob.objects.in_bulk(ids)
    crawls = [shown[pk] for pk in ids if pk in shown]
    return list(zip(crawls, crawl_views(crawls), strict=True)), following


def _first_ids(parts: Iterable[QuerySet[Any]], most: int) -> list[int]:
    """The ids of the first rows. A part is read only if the parts before it have too few."""
    ids: list[int] = []
    for part in parts:
        ids += part.values_list("pk", flat=True)[: most - len(ids)]
        if len(ids) == most:
            break
    return ids


def _indexed_parts(rows: QuerySet[Any], wanted: CrawlFilter) -> Iterator[QuerySet[Any]]:
    """The wanted rows in parts, each of which an index has in order. Sorted by state, each state is
    a part. Sorted by start, crawls with a start precede crawls without.
    """
    key, is_falling = wanted.sort.removeprefix("-"), wanted.sort.startswith("-")
    last = _last_shown(rows, wanted)
    if key == "state":
        states = [*sorted(RunState.values, reverse=is_falling), None]
        for state in states[states.index(last[1]) if last else 0 :]:
            part = rows.filter(by=state)
            yield part.filter(pk__lt=last[0]) if last and last[1] == state else part
        return
    rows = _crawls_after(rows, wanted, last) if last else rows
    if key == "started":
        yield rows.filter(by__isnull=False)
        rows = rows.filter(by=None)
    yield rows


def _totals(
    wanted: CrawlFilter, waiting: Collection[int], among: Collection[int] | None
) -> CrawlTotals:
    found = found_crawls(wanted, waiting, among).order_by()
    names = {*COUNTED.values(), *SETTLED}
    sums = found.aggregate(**{name: Sum(f"last__total__{name}", default=0) for name in names})
    settled = sum(sums[name] for name in SETTLED)
    return CrawlTotals(
        queued=max(0, sums["discovered"] - settled - _in_process(found)),
        **{name: sums[column] for name, column in COUNTED.items()},
    )


def _in_process(found: QuerySet[Any]) -> int:
    """The number of URLs of these crawls' latest runs that are being fetched.

    An index has exactly these URLs, and they belong to few runs. With a query run by run, the
    database might read all runs.
    """
    urls = Url.objects.filter(shift__isnull=False, state=UrlState.IN_PROCESS)
    fetching = dict(urls.values_list("run").annotate(n=Count("*")))
    if not fetching:
        return 0
    latest = found.filter(last__in=list(fetching)).values_list("latest", flat=True)
    return sum(fetching[run] for run in latest)


def sortable_filter(wanted: CrawlFilter, waiting: Collection[int]) -> CrawlFilter:
    """The filter. If so many crawls are found that their counts cannot be added up, it sorts by
    age.
    """
    if (
        wanted.sort.removeprefix("-") not in BY_COUNTS
        or found_crawls(wanted, waiting).count() <= MOST_SUMMED
    ):
        return wanted
    return without_sums(wanted)


def _in_order(crawls: QuerySet[Any], sort: str) -> Any:
    """The crawls sorted by `sort`, and those with equal values by age, newest first. Crawls without
    a value come last.
    """
    key, is_falling = sort.removeprefix("-"), sort.startswith("-")
    if key == "made":
        return crawls.annotate(by=Value(0)).order_by("-pk" if is_falling else "pk")
    if key == "name":  # names are unique
        return crawls.annotate(by=F("name")).order_by("-name" if is_falling else "name")
    by: Any = {
        "state": F("last__state"),
        "started": F("last__started_at"),
    }.get(key)
    if key == "queued":
        waiting = (
            HostQueue.objects.filter(queued__gt=0, run=OuterRef("latest"))
            .values("run")
            .annotate(total=Sum("queued"))
        )
        by = Coalesce(Subquery(waiting.values("total")), Value(0))
    elif key in COUNTED:
        by = Coalesce(F(f"last__total__{COUNTED[key]}"), Value(0))
    if key == "started":  # crawls without a start are a part of their own
        return crawls.annotate(by=by).order_by(
            F("by").desc() if is_falling else F("by").asc(), "-pk"
        )
    if key == "state":  # each state is a part of its own
        return crawls.annotate(by=by).order_by("-pk")
    return crawls.annotate(by=by).order_by(
        F("by").desc(nulls_last=True) if is_falling else F("by").asc(nulls_last=True), "-pk"
    )


def _last_shown(rows: QuerySet[Any], wanted: CrawlFilter) -> tuple[int, Any] | None:
    """The last crawl of the previous page, in its current state, with its sort key."""
    if wanted.after is None:
        return None
    return rows.filter(pk=wanted.after).values_list("pk", "by").first()


def _crawls_after(rows: QuerySet[Any], wanted: CrawlFilter, last: tuple[int, Any]) -> QuerySet[Any]:
    pk, by = last
    key, is_falling = wanted.sort.removeprefix("-"), wanted.sort.startswith("-")
    if isinstance(rows.query.order_by[0], str):
        column, value = ("name", by) if key == "name" else ("pk", pk)
        return rows.filter(**{f"{column}__{'lt' if is_falling else 'gt'}": value})
    if by is None:
        return rows.filter(by=None, pk__lt=pk)
    return rows.filter(
        Q(**{f"by__{'lt' if is_falling else 'gt'}": by}) | Q(by=None) | Q(by=by, pk__lt=pk)
    )


def crawls_file(wanted: CrawlFilter, kind: str) -> Download:
    """The wanted crawls as csv or jsonl, each as in `/api/v1/crawls`."""
    return row_file("crawls", kind, _crawls(wanted))


def _crawls(wanted: CrawlFilter) -> Iterator[dict[str, Any]]:
    """The crawls, read by keys, so that a slow client does not keep a transaction or a cursor
    open.
    """
    waiting = waiting_runs()
    wanted = sortable_filter(replace(wanted, after=None), waiting)
    while True:
        crawls, following = crawls_and_next(wanted, waiting, CHUNK)
        yield from (view.as_dict() for _, view in crawls)
        if following is None:
            return
        wanted = replace(wanted, after=following)
