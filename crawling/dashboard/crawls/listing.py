"""The list of crawls: filtered, searched, sorted and paged by the database, with counts per
state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import (
    Case,
    CharField,
    Count,
    F,
    FilteredRelation,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Upper

from allocation.wording import whole_number
from crawling.dashboard.base.crawl_views import CrawlView, crawl_views
from crawling.dashboard.base.time_range import ALWAYS, TimeRange
from crawling.models import CrawlJob, HostQueue, Run
from crawling.models.jobs import SEARCHED
from crawling.runs.wait_reason import waiting_runs
from serving.downloads import Download, row_file
from serving.paging import cut
from serving.requests import asked_text

#: crawls of a file that are read at a time
CHUNK = 200
CRAWLS_PER_PAGE = 50
LONGEST_SEARCH = 200
SHORTEST_PIECE = 3
#: as pages show them, in the order of a crawl's life; waiting is a run at work that the pool or
#: another crawl keeps from a shift
STATES = (
    "draft",
    "queued",
    "running",
    "waiting",
    "pausing",
    "paused",
    "stopping",
    "finished",
    "stopped",
    "failed",
)
COUNTED = {
    "fetched": "fetched",
    "known": "discovered",
    "failed": "failed",
    "excluded": "excluded",
    "size": "bytes",
}
#: sorting by these sums the counts of every crawl found, so only so many are sorted by them
BY_COUNTS = (*COUNTED, "queued")
MOST_SUMMED = 5000
#: what a search finds is counted so far: each count reads what it counts
MOST_COUNTED = 10_000
SORTS = ("name", "state", *BY_COUNTS, "started", "made")
#: each rising, and falling
ORDERS = tuple(sign + key for key in SORTS for sign in ("", "-"))
NEWEST_FIRST = "-made"


@dataclass(frozen=True)
class CrawlFilter:
    """What the address asks for; nonsense counts as nothing."""

    state: str = ""
    search: str = ""
    tag: str = ""
    sort: str = NEWEST_FIRST
    #: id of the last crawl on the page before
    after: int | None = None
    #: of the latest run's first fetch
    span: TimeRange = ALWAYS
    #: the name of a user whose crawls they are, and of a team
    owner: str = ""
    team: str = ""

    @classmethod
    def read(cls, query: Any) -> CrawlFilter:
        state, sort, after = query.get("state", ""), query.get("sort", ""), query.get("after", "")
        return cls(
            state=state if state in STATES else "",
            search=_words(query, "q"),
            tag=_words(query, "tag"),
            sort=sort if sort.removeprefix("-") in SORTS else NEWEST_FIRST,
            after=whole_number(after),
            span=TimeRange.read(query),
            owner=_words(query, "owner"),
            team=_words(query, "team"),
        )

    @property
    def is_filtered(self) -> bool:
        return bool(self.state) or self.narrows

    @property
    def narrows(self) -> bool:
        """Whether it asks for anything but a state."""
        return bool(self.search or self.tag or self.span or self.owner or self.team)


def _words(query: Any, name: str) -> str:
    return asked_text(query, name, most=LONGEST_SEARCH)


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
class CrawlCount:
    """How many crawls there are: that number or, if they are too many to count, more."""

    number: int
    is_more: bool = False

    @classmethod
    def of(cls, counted: int) -> CrawlCount:
        return cls(min(counted, MOST_COUNTED), counted > MOST_COUNTED)

    def __str__(self) -> str:
        return f"{self.number:,}{'+' if self.is_more else ''}"


@dataclass(frozen=True)
class Listing:
    """One page of crawls."""

    crawls: Sequence[tuple[CrawlJob, CrawlView]]
    #: id of the crawl after which the next page begins; None at the end
    following: int | None
    #: how many crawls the search, the tag and the span find, by state; without states that have
    #: none; None: those found are too many to be counted by state
    states: dict[str, int | None]
    found: CrawlCount
    #: how many of those found are in the state wanted
    matching: CrawlCount
    #: whether few enough are found to sort them by counts
    sums: bool
    any_at_all: bool
    #: of all that match; None: they are too many, or no more than one
    totals: CrawlTotals | None = None


def list_crawls(wanted: CrawlFilter, *, most: int = CRAWLS_PER_PAGE) -> Listing:
    """Find a page of crawls in a fixed number of queries."""
    waiting = waiting_runs()
    counts = _states(wanted, waiting)
    found = CrawlCount(sum(counts.values()))
    states: dict[str, int | None] = {**counts}
    if wanted.narrows and found.number > MOST_COUNTED:
        found, states = CrawlCount.of(found.number), dict.fromkeys(STATES)
        matching = _count(wanted, waiting) if wanted.state else found
    else:
        matching = CrawlCount(counts.get(wanted.state, 0)) if wanted.state else found
    sums = matching.number <= MOST_SUMMED
    crawls, following = page_of(wanted if sums else without_sums(wanted), waiting, most)
    return Listing(
        crawls=crawls,
        following=following,
        states=states,
        found=found,
        matching=matching,
        sums=sums,
        any_at_all=bool(found.number) or CrawlJob.objects.exists(),
        totals=_totals(wanted, waiting) if sums and matching.number > 1 else None,
    )


def page_of(
    wanted: CrawlFilter, waiting: Collection[int], most: int
) -> tuple[list[tuple[CrawlJob, CrawlView]], int | None]:
    """So many of the crawls wanted, and the id to go on after; None at the end.

    waiting: the runs that wait.
    """
    rows = _after(_sorted(found_crawls(wanted, waiting), wanted.sort), wanted)
    # Their ids first: the sorted rows are then narrow, whatever the length of the lists of seeds.
    ids, following = cut(_first_ids(rows, wanted, most + 1), most, int)
    shown = CrawlJob.objects.in_bulk(ids)
    crawls = [shown[pk] for pk in ids if pk in shown]
    return list(zip(crawls, crawl_views(crawls), strict=True)), following


def _first_ids(rows: QuerySet[Any], wanted: CrawlFilter, most: int) -> list[int]:
    """The ids of so many rows; sorted by start, those that have one come from the index of them."""
    ids = rows.values_list("pk", flat=True)
    if wanted.sort.removeprefix("-") != "started":
        return list(ids[:most])
    started = list(ids.filter(by__isnull=False)[:most])
    return started + list(ids.filter(by=None)[: most - len(started)])


def _totals(wanted: CrawlFilter, waiting: Collection[int]) -> CrawlTotals:
    found = found_crawls(wanted, waiting).order_by()
    counted = found.aggregate(
        **{name: Sum(f"last__total__{column}", default=0) for name, column in COUNTED.items()}
    )
    queues = HostQueue.objects.filter(queued__gt=0, run__in=found.values("latest"))
    return CrawlTotals(queued=queues.aggregate(n=Sum("queued", default=0))["n"], **counted)


def sortable(wanted: CrawlFilter, waiting: Collection[int]) -> CrawlFilter:
    """The same, by age if the crawls found are too many for the counts of each to be added up."""
    if (
        wanted.sort.removeprefix("-") not in BY_COUNTS
        or found_crawls(wanted, waiting).count() <= MOST_SUMMED
    ):
        return wanted
    return without_sums(wanted)


def found_crawls(wanted: CrawlFilter, waiting: Collection[int]) -> Any:
    """The crawls that search, tag and state leave, each with `latest`, its latest run's id.

    waiting: the runs that wait.
    """
    crawls = CrawlJob.objects.annotate(
        last=FilteredRelation("runs", condition=Q(runs__is_latest=True))
    ).annotate(latest=F("last__pk"))
    if wanted.search:
        crawls = crawls.annotate(words=SEARCHED).filter(_holds(wanted.search))
    if wanted.tag:
        crawls = crawls.filter(tags__contains=[wanted.tag])
    if wanted.owner:
        crawls = crawls.filter(created_by__username=wanted.owner)
    if wanted.team:
        crawls = crawls.filter(team=wanted.team)
    if wanted.span:
        crawls = crawls.filter(wanted.span.of("last__started_at"))
    if wanted.state == "draft":
        return crawls.filter(last=None)
    if wanted.state == "waiting":
        return crawls.filter(last__in=_any_of(waiting))
    return (
        crawls.filter(last__state=wanted.state).exclude(last__in=_any_of(waiting))
        if wanted.state
        else crawls
    )


def _holds(text: str) -> Q:
    """The index has trigrams, with a blank before each word: shorter texts are searched at the
    beginning of words.
    """
    if len(text) >= SHORTEST_PIECE:
        return Q(words__contains=Upper(Value(text)))
    return Q(words__startswith=Upper(Value(text))) | Q(words__contains=Upper(Value(f" {text}")))


def _states(wanted: CrawlFilter, waiting: Mapping[int, str]) -> dict[str, int]:
    """Of what a search finds no more than MOST_COUNTED + 1."""
    if not wanted.narrows:
        return state_counts(waiting)
    found = found_crawls(replace(wanted, state=""), waiting)
    shown = Case(
        When(last=None, then=Value("draft")),
        When(last__in=_any_of(waiting), then=Value("waiting")),
        default=F("last__state"),
        output_field=CharField(),
    )
    some = found.annotate(shown=shown).order_by().values("shown")[: MOST_COUNTED + 1]
    return _in_order(
        some.aggregate(**{state: Count("shown", filter=Q(shown=state)) for state in STATES})
    )


def _count(wanted: CrawlFilter, waiting: Collection[int]) -> CrawlCount:
    return CrawlCount.of(found_crawls(wanted, waiting).order_by()[: MOST_COUNTED + 1].count())


def state_counts(waiting: Mapping[int, str]) -> dict[str, int]:
    """All crawls by the state that is shown of them; `waiting` are the runs that wait, with their
    states: each is the latest of its crawl.

    No crawl's row is read.
    """
    # none that is being deleted is the latest; the index has only these columns
    latest = Run.all_objects.filter(is_latest=True).order_by()
    counts = dict(latest.values_list("state").annotate(n=Count("*")))
    drafts = CrawlJob.objects.count() - sum(counts.values())
    for state, count in Counter(waiting.values()).items():
        counted = min(count, counts.get(state, 0))  # some may have ended since they were read
        counts[state] = counts.get(state, 0) - counted
        counts["waiting"] = counts.get("waiting", 0) + counted
    return _in_order({**counts, "draft": drafts})


def _any_of(runs: Collection[int]) -> RawSQL:
    """The ids as one parameter: a parameter for each of ten thousand takes longer to write down and
    to parse than to look up.
    """
    return RawSQL("SELECT unnest(%s::bigint[])", [list(runs)])


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    return {state: counts[state] for state in STATES if counts.get(state)}


def without_sums(wanted: CrawlFilter) -> CrawlFilter:
    return (
        replace(wanted, sort=NEWEST_FIRST) if wanted.sort.removeprefix("-") in BY_COUNTS else wanted
    )


def _sorted(crawls: QuerySet[Any], sort: str) -> Any:
    """By `by`, then the newest first; crawls that have none come last."""
    key, is_falling = sort.removeprefix("-"), sort.startswith("-")
    if key == "made":
        return crawls.annotate(by=Value(0)).order_by("-pk" if is_falling else "pk")
    if key == "name":  # no two crawls have the same
        return crawls.annotate(by=F("name")).order_by("-name" if is_falling else "name")
    by: Any = {
        "state": Coalesce(F("last__state"), Value("draft")),
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
    if key == "started":  # those without one are read apart
        return crawls.annotate(by=by).order_by(
            F("by").desc() if is_falling else F("by").asc(), "-pk"
        )
    return crawls.annotate(by=by).order_by(
        F("by").desc(nulls_last=True) if is_falling else F("by").asc(nulls_last=True), "-pk"
    )


def _after(rows: QuerySet[Any], wanted: CrawlFilter) -> Any:
    """What follows the crawl that the page before ended with, wherever that crawl stands by now."""
    last = (
        rows.filter(pk=wanted.after).values_list("pk", "by").first()
        if wanted.after is not None
        else None
    )
    if last is None:
        return rows
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
    """The crawls wanted; as csv or jsonl. Each as `/api/v1/crawls` has it."""
    return row_file("crawls", kind, _crawls(wanted))


def _crawls(wanted: CrawlFilter) -> Iterator[dict[str, Any]]:
    """By keys, so that a slow client keeps neither a transaction nor a cursor open."""
    waiting = waiting_runs()
    wanted = sortable(replace(wanted, after=None), waiting)
    while True:
        crawls, following = page_of(wanted, waiting, CHUNK)
        yield from (view.as_dict() for _, view in crawls)
        if following is None:
            return
        wanted = replace(wanted, after=following)
