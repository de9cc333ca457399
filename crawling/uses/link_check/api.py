"""`/api/v1/crawls/{id}/…`: the links of a run, and reports about them."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

from django.db.models import QuerySet
from ninja import Query, Router, Status
from pydantic import Field

from crawling.dashboard.base.api_parameters import (
    TEXT,
    Against,
    CrawlId,
    RunNumber,
    may_change,
    may_view,
)
from crawling.dashboard.base.lags import LagOut, lag_facts
from crawling.dashboard.base.requests import get_crawl, get_run
from crawling.datasets.jobs import move_reading_to_front, request_reading
from crawling.datasets.lag import Derived, Lag, lags_of
from crawling.models import Run
from crawling.uses.link_check.coverage import Unchecked, coverage_of
from crawling.uses.link_check.link_changes import PageLinkChanges
from crawling.uses.link_check.link_changes import list_link_changes as link_changes
from crawling.uses.link_check.link_check import (
    SLOW_SECONDS,
    ProblemChange,
    list_changed_problems,
    list_problems,
)
from crawling.uses.link_check.link_sources import LinkSource
from crawling.uses.link_check.list_orders import HostSort, LinkSort, MediaSort
from crawling.uses.link_check.models import BrokenLinks
from crawling.uses.link_check.problem_counts import ProblemCount, counts_of
from crawling.uses.link_check.problem_kinds import ProblemKind
from crawling.uses.link_check.reports import (
    LINK_TYPES,
    MEDIA_TYPES,
    BrokenTarget,
    LinkedHost,
    LinkFound,
    MediaFile,
    list_broken,
    list_hosts,
    list_links,
    list_media,
)
from crawling.uses.link_check.sorted_problems import ProblemSort, list_sorted_problems
from crawling.uses.link_check.trend import BrokenTrend, trend_of, trend_row
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import ListAnswer, listed
from serving.listing.sources import FoundList, QueryList
from serving.schemas import Schema

links = Router()
Source = Annotated[
    str, Query(max_length=5000, pattern=TEXT, description="only links of this page, by its URL")
]
Target = Annotated[
    str, Query(max_length=5000, pattern=TEXT, description="only links to this URL: its back links")
]
TargetHost = Annotated[
    str, Query(max_length=300, pattern=TEXT, description="only links to this host")
]
LinkType = Annotated[
    Literal["", *LINK_TYPES],  # type: ignore[valid-type]
    Query(description="only links of elements of a type"),
]
MediaType = Annotated[
    Literal["", *MEDIA_TYPES],  # type: ignore[valid-type]
    Query(description="only files that elements of a type show"),
]
Sort = Annotated[
    ProblemSort | None,
    Query(
        description="the column that problems are sorted by, falling with `-`; at most 20,000 of "
        "a kind can be sorted; not with `against`"
    ),
]
BY_COLUMN = "the column that rows are sorted by, falling with `-`"
LinkOrder = Annotated[
    LinkSort | None, Query(description=f"{BY_COLUMN}; default: the order of finding")
]
MediaOrder = Annotated[MediaSort, Query(description=BY_COLUMN)]
HostOrder = Annotated[HostSort, Query(description=BY_COLUMN)]
Kind = Annotated[ProblemKind, Query(description="the kind of problem")]
SlowSeconds = Annotated[
    float, Query(ge=0, le=86_400, description="of kind `slow`: answers that took so long")
]
Earlier = Annotated[
    int | None,
    Query(ge=1, le=2**31 - 1, description="number of an earlier run: only what differs from it"),
]
Change = Annotated[
    ProblemChange,
    Query(description="with `against`: problems that only the later run has, or only the earlier"),
]


class DatasetPage(LagOut):
    """A page of a list that is read from the dataset."""

    next: str | None


class LinkProblemOut(Schema):
    kind: ProblemKind
    url: str = Field(description="the address that has the problem")
    detail: str
    status: int | None
    chain: list[str] = Field(description="where redirects lead, one after the other")
    new_target: str = Field(
        description="where links should lead instead: redirects say so for good; empty: not known"
    )
    links: int | None = Field(
        description="how many lead to it, so far while it is not `complete`; null: none is counted "
        "yet; 0 where the page itself is to be fixed"
    )
    sources: list[LinkSource] = Field(
        description="the first twenty; `links?target=` has all of them"
    )


class LinkProblemPage(DatasetPage):
    items: list[LinkProblemOut]
    counts: list[ProblemCount] = Field(
        description="of each kind that a background job has counted; it does so once the run has "
        "ended and its pages are read, and counts anew after changes"
    )
    unchecked: Unchecked = Field(description="addresses that the run has found and not checked")


class LinkCheckOut(Schema):
    unread_parts: int = Field(description="parts of the links dataset whose pages wait for it")


class DatasetList(Schema):
    items: list[Lag]


def _list_answer(run: Run, find: Callable[..., Any], **wanted: Any) -> ListAnswer:
    return ListAnswer(partial(find, run, **wanted), lambda: lag_facts(run, Derived.LINKS))


@listed(
    links,
    "/{crawl_id}/links",
    FoundList(LinkFound),
    summary="Links of a run's pages, with anchor text and place",
    beside=DatasetPage,
)
@may_view
def list_crawl_links(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    page: Source = "",
    target: Target = "",
    host: TargetHost = "",
    type: LinkType = "",
    sort: LinkOrder = None,
) -> ListAnswer:
    """Among links of a page with the same element and URL, the first that has text is listed."""
    wanted = {"page": page, "target": target, "host": host, "kind": type, "sort": sort}
    return _list_answer(get_run(crawl_id, run), list_links, **wanted)


@listed(
    links,
    "/{crawl_id}/reports/broken-links",
    FoundList(BrokenTarget, goes_by_number=True),
    summary="URLs that failed, with the links to them",
    beside=LagOut,
)
@may_view
def list_broken_links(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> ListAnswer:
    """A page may be short although more links exist: only `next` shows the end."""
    return _list_answer(get_run(crawl_id, run), list_broken)


@listed(
    links,
    "/{crawl_id}/reports/broken-links/trend",
    QueryList(BrokenTrend, key="run_id", read=partial(map, trend_row)),
    summary="Broken links of each run: new, fixed and still there, latest first",
)
@may_view
def list_broken_link_trend(
    request: AuthenticatedRequest, crawl_id: CrawlId
) -> QuerySet[BrokenLinks]:
    """Runs that have ended, each next to the complete run before it."""
    return trend_of(get_crawl(crawl_id))


@listed(
    links,
    "/{crawl_id}/reports/problems",
    FoundList(LinkProblemOut),
    summary="Link check: problems of links and pages, of a kind",
    beside=LinkProblemPage,
)
@may_view
def list_link_problems(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    kind: Kind = ProblemKind.BROKEN,
    slow_seconds: SlowSeconds = SLOW_SECONDS,
    against: Earlier = None,
    change: Change = ProblemChange.NEW,
    sort: Sort = None,
) -> ListAnswer:
    """A page may be short although there are more: only `next` shows the end."""
    one = get_run(crawl_id, run)
    find = partial(list_problems, one, kind, slow_seconds=slow_seconds)
    if sort is not None:
        find = partial(list_sorted_problems, one, kind, sort)
    if against is not None:
        find = partial(list_changed_problems, get_run(crawl_id, against), one, kind, change)
    return ListAnswer(
        find,
        lambda: {
            **lag_facts(one, kind.derived),
            "counts": list(counts_of(one).values()),
            "unchecked": coverage_of(one).unchecked,
        },
    )


@links.post(
    "/{crawl_id}/links/check",
    response={202: LinkCheckOut},
    summary="Read a run's pages again, for missing fragments and errors of HTML",
)
@may_change
def check_crawl_links(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> Status:
    """A background job reads them; the kinds `fragment`, `malformed` and `html` of
    `reports/problems` need it.
    """
    return Status(202, {"unread_parts": request_reading(get_run(crawl_id, run), by=request.user)})


@links.get(
    "/{crawl_id}/datasets",
    response=DatasetList,
    summary="What is derived from a run's pages, and how far it lags",
)
@may_view
def list_datasets(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> dict[str, Any]:
    """Background jobs add to them while the crawl runs."""
    one = get_run(crawl_id, run)
    found = lags_of(one)
    if not all(lag.complete for lag in found):
        move_reading_to_front(one)
    return {"items": found}


@listed(
    links,
    "/{crawl_id}/reports/media",
    FoundList(MediaFile),
    summary="Images, sound and film that pages show",
    beside=DatasetPage,
)
@may_view
def list_media_files(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    type: MediaType = "",
    sort: MediaOrder = MediaSort.ADDRESS,
) -> ListAnswer:
    return _list_answer(get_run(crawl_id, run), list_media, kind=type, sort=sort)


@listed(
    links,
    "/{crawl_id}/reports/hosts",
    FoundList(LinkedHost),
    summary="Hosts that links lead to",
    beside=DatasetPage,
)
@may_view
def list_linked_hosts(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    sort: HostOrder = HostSort.HOST,
) -> ListAnswer:
    return _list_answer(get_run(crawl_id, run), list_hosts, sort=sort)


@listed(
    links,
    "/{crawl_id}/link-changes",
    FoundList(PageLinkChanges),
    summary="Compare the links of two runs, by page",
    beside=DatasetPage,
)
@may_view
def list_link_changes(
    request: AuthenticatedRequest, crawl_id: CrawlId, against: Against, run: RunNumber = None
) -> ListAnswer:
    """Pages whose links are the same in both runs are not listed."""
    old, new = get_run(crawl_id, against), get_run(crawl_id, run)
    return ListAnswer(partial(link_changes, old, new), lambda: lag_facts(new, Derived.LINKS))


ROUTERS = (("/crawls", links, "results"),)
