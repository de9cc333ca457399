"""The list of crawls: filtered, searched, sorted and paged by the database, with counts per state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Case, CharField, Count, F, Func, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce

from crawling.idling import Why, why_idle
from crawling.models import CrawlJob, HostQueue, Run, RunCount
from crawling.models.jobs import WORKING_STATES
from crawling.selectors import CrawlView, crawl_views

CRAWLS_PER_PAGE = 50
LONGEST_SEARCH = 200
#: as pages show them, in the order of a crawl's life; waiting is a run at work that the bank or another crawl keeps from a shift
STATES = ("draft", "queued", "running", "waiting", "pausing", "paused", "stopping", "finished", "stopped", "failed")
COUNTED = {"fetched": "fetched", "known": "discovered", "failed": "failed", "excluded": "excluded", "size": "bytes"}
SORTS = ("name", "state", *COUNTED, "queued", "started", "made")
NEWEST_FIRST = "-made"


@dataclass(frozen=True)
class Wanted:
    """What the address asks for; nonsense counts as nothing."""

    state: str = ""
    search: str = ""
    sort: str = NEWEST_FIRST
    page: str = "1"

    @classmethod
    def read(cls, query: Any) -> Wanted:
        state, sort = query.get("state", ""), query.get("sort", "")
        return cls(
            state=state if state in STATES else "",
            search=query.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH],
            sort=sort if sort.removeprefix("-") in SORTS else NEWEST_FIRST,
            page=query.get("page", "1"),
        )


@dataclass(frozen=True)
class Listing:
    """One page of crawls. `states` counts what the search finds by state, states without crawls left out."""

    page: Page
    crawls: Sequence[tuple[CrawlJob, CrawlView]]
    states: dict[str, int]
    found: int
    any_at_all: bool


def list_crawls(wanted: Wanted) -> Listing:
    """Find what is wanted, in a fixed number of queries."""
    idle = why_idle(list(Run.objects.filter(state__in=WORKING_STATES)))
    found = _search(_with_state(CrawlJob.objects.all(), idle), wanted.search)
    counts = dict(found.order_by().values_list("shown").annotate(n=Count("pk")))
    states = {state: counts[state] for state in STATES if state in counts}
    total = sum(states.values())
    rows = _sort(found.filter(shown=wanted.state) if wanted.state else found, wanted.sort)
    paginator = Paginator(rows, CRAWLS_PER_PAGE)
    paginator.count = states.get(wanted.state, 0) if wanted.state else total
    page = paginator.get_page(wanted.page)
    crawls = list(page.object_list)
    return Listing(
        page=page,
        crawls=list(zip(crawls, crawl_views(crawls, idle=idle), strict=True)),
        states=states,
        found=total,
        any_at_all=bool(total) or CrawlJob.objects.exists(),
    )


def _with_state(crawls: QuerySet[Any], idle: Mapping[int, Why]) -> Any:
    """Add `latest`, the id of the latest run, and `shown`, the state that the row shows.

    Who waits is told by the same rule that words the sentence in the row, so that the two never differ.
    """
    waiting = [run for run, why in idle.items() if why.state == "waiting"]
    latest = Run.objects.filter(crawl=OuterRef("pk")).order_by("-number")
    return crawls.annotate(latest=Subquery(latest.values("pk")[:1])).annotate(
        shown=Case(
            When(latest=None, then=Value("draft")),
            When(latest__in=waiting, then=Value("waiting")),
            default=Subquery(latest.values("state")[:1]),
            output_field=CharField(),
        )
    )


def _search(crawls: QuerySet[Any], words: str) -> Any:
    if not words:
        return crawls
    seeds = Func(F("seeds"), Value("\n"), function="array_to_string", output_field=CharField())
    return crawls.annotate(seed_text=seeds).filter(Q(name__icontains=words) | Q(seed_text__icontains=words))


def _sort(crawls: QuerySet[Any], sort: str) -> Any:
    key, is_falling = sort.removeprefix("-"), sort.startswith("-")
    by: Any = {"name": F("name"), "state": F("shown"), "made": F("created_at")}.get(key)
    if key == "started":
        by = Subquery(Run.objects.filter(pk=OuterRef("latest")).values("started_at")[:1])
    elif key == "queued":
        queued = HostQueue.objects.filter(run=OuterRef("latest"), queued__gt=0).values("run").annotate(total=Sum("queued")).values("total")
        by = Coalesce(Subquery(queued), Value(0))
    elif key in COUNTED:
        sums = RunCount.objects.filter(run=OuterRef("latest")).values("run").annotate(total=Sum(COUNTED[key])).values("total")
        by = Coalesce(Subquery(sums), Value(0))
    crawls = crawls.annotate(by=by)
    return crawls.order_by(F("by").desc(nulls_last=True) if is_falling else F("by").asc(nulls_last=True), "-pk")
