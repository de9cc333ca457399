"""The list of crawls: filtered, searched, sorted and paged by the database, with counts per
state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
from crawling.frontier.run_counts import SETTLED
from crawling.models import CrawlJob, HostQueue, Run, RunState, Url, UrlState
from crawling.models.jobs import ENDED_STATES, SEARCHED
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
#: crawls without a run, from two indexes; a join that finds nothing to join costs four times that
DRAFTS = """
SELECT id FROM crawling_crawljob WHERE removal_asked_at IS NULL
EXCEPT SELECT crawl_id FROM crawling_run WHERE is_latest
"""
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
    #: none; None: those found are too many to be counted in that state
    states: dict[str, CrawlCount | None]
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
    states, found = _found(wanted, waiting)
    if not wanted.state:
        matching = found
    elif wanted.state in states:
        matching = states[wanted.state] or _count(wanted, waiting)
    else:
        matching = CrawlCount(0)
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
    rows = _sorted(found_crawls(wanted, waiting), wanted.sort)
    # Their ids first: the sorted rows are then narrow, whatever the length of the lists of seeds.
    ids, following = cut(_first_ids(_parts(rows, wanted), most + 1), most, int)
    shown = CrawlJob.objects.in_bulk(ids)
    crawls = [shown[pk] for pk in ids if pk in shown]
    return list(zip(crawls, crawl_views(crawls), strict=True)), following


def _first_ids(parts: Iterable[QuerySet[Any]], most: int) -> list[int]:
    """The ids of so many rows; a part is read once those before it are too few."""
    ids: list[int] = []
    for part in parts:
        ids += part.values_list("pk", flat=True)[: most - len(ids)]
        if len(ids) == most:
            break
    return ids


def _parts(rows: QuerySet[Any], wanted: CrawlFilter) -> Iterator[QuerySet[Any]]:
    """The rows wanted, in parts each of which an index has in order: sorted by state a part a
    state, sorted by start those that have one, and then those that have none.
    """
    key, is_falling = wanted.sort.removeprefix("-"), wanted.sort.startswith("-")
    last = _last_shown(rows, wanted)
    if key == "state":
        states = [*sorted(RunState.values, reverse=is_falling), None]
        for state in states[states.index(last[1]) if last else 0 :]:
            part = rows.filter(by=state)
            yield part.filter(pk__lt=last[0]) if last and last[1] == state else part
        return
    rows = _after(rows, wanted, last) if last else rows
    if key == "started":
        yield rows.filter(by__isnull=False)
        rows = rows.filter(by=None)
    yield rows


def _totals(wanted: CrawlFilter, waiting: Collection[int]) -> CrawlTotals:
    found = found_crawls(wanted, waiting).order_by()
    names = {*COUNTED.values(), *SETTLED}
    sums = found.aggregate(**{name: Sum(f"last__total__{name}", default=0) for name in names})
    in_process = Url.objects.filter(
        shift__isnull=False, state=UrlState.IN_PROCESS, run__in=found.values("latest")
    )
    settled = sum(sums[name] for name in SETTLED)
    return CrawlTotals(
        queued=max(0, sums["discovered"] - settled - in_process.count()),
        **{name: sums[column] for name, column in COUNTED.items()},
    )


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
        return crawls.filter(pk__in=RawSQL(DRAFTS, []))  # noqa: S611 - a constant
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


def _found(
    wanted: CrawlFilter, waiting: Mapping[int, str]
) -> tuple[dict[str, CrawlCount | None], CrawlCount]:
    """How many crawls search, tag and span leave, by state and in all."""
    if wanted.narrows:
        counts = _narrowed_counts(wanted, waiting)
        found = CrawlCount.of(sum(counts.values()))
        if found.is_more:
            return dict.fromkeys(STATES), found
        return {state: CrawlCount(count) for state, count in counts.items()}, found
    states = _bounded_counts(waiting)
    if None in states.values():
        return states, CrawlCount(MOST_COUNTED, is_more=True)
    return states, CrawlCount(sum(count.number for count in states.values() if count))


def _narrowed_counts(wanted: CrawlFilter, waiting: Mapping[int, str]) -> dict[str, int]:
    """Of what a search finds no more than MOST_COUNTED + 1."""
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
    counts = live_counts(waiting)
    ended = _latest_runs().filter(state__in=ENDED_STATES)
    counts |= dict(ended.values_list("state").annotate(n=Count("*")))
    return _in_order({**counts, "draft": CrawlJob.objects.count() - sum(counts.values())})


def live_counts(waiting: Mapping[int, str]) -> dict[str, int]:
    """The same of crawls whose latest run has not ended."""
    live = _latest_runs().filter(state__in=set(RunState) - set(ENDED_STATES))
    counts = dict(live.values_list("state").annotate(n=Count("*")))
    for state, count in Counter(waiting.values()).items():
        counted = min(count, counts.get(state, 0))  # some may have ended since they were read
        counts[state] = counts.get(state, 0) - counted
        counts["waiting"] = counts.get("waiting", 0) + counted
    return counts


def _latest_runs() -> QuerySet[Run]:
    # none that is being deleted is the latest; the index has only these columns
    return Run.all_objects.filter(is_latest=True).order_by()


def _bounded_counts(waiting: Mapping[int, str]) -> dict[str, CrawlCount | None]:
    """As `state_counts`, of the crawls that have ended no more than MOST_COUNTED + 1 a state.

    Where that is less than there are, drafts are not counted: what is left of all would have to be.
    """
    counts: dict[str, CrawlCount | None] = {
        state: CrawlCount(count) for state, count in live_counts(waiting).items()
    }
    for state in ENDED_STATES:
        some = _latest_runs().filter(state=state)[: MOST_COUNTED + 1]
        counts[state] = CrawlCount.of(some.count())
    found = [count for count in counts.values() if count]
    counts["draft"] = (
        None
        if any(count.is_more for count in found)
        else CrawlCount(CrawlJob.objects.count() - sum(count.number for count in found))
    )
    return {
        state: counts[state]
        for state in STATES
        if state in counts and counts[state] != CrawlCount(0)
    }


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
    if key == "started":  # those without one are read apart
        return crawls.annotate(by=by).order_by(
            F("by").desc() if is_falling else F("by").asc(), "-pk"
        )
    if key == "state":  # each state is read apart
        return crawls.annotate(by=by).order_by("-pk")
    return crawls.annotate(by=by).order_by(
        F("by").desc(nulls_last=True) if is_falling else F("by").asc(nulls_last=True), "-pk"
    )


def _last_shown(rows: QuerySet[Any], wanted: CrawlFilter) -> tuple[int, Any] | None:
    """The crawl that the page before ended with, wherever it stands by now, and what it is sorted
    by.
    """
    if wanted.after is None:
        return None
    return rows.filter(pk=wanted.after).values_list("pk", "by").first()


def _after(rows: QuerySet[Any], wanted: CrawlFilter, last: tuple[int, Any]) -> QuerySet[Any]:
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
