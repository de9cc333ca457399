"""`/api/v1/crawls/{id}/…`: the links of a run, and reports of them."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from dataclasses import asdict
from typing import Annotated, Any

from ninja import Query, Router, Status
from pydantic import Field

from crawling.dashboard.base.api_parameters import (
    TEXT,
    Against,
    CrawlId,
    Cursor,
    Limit,
    RunNumber,
    may_change,
    may_view,
)
from crawling.dashboard.base.requests import get_run
from crawling.datasets.jobs import ask_reading
from crawling.datasets.parts import MOST_BEHIND, pages_behind
from crawling.datasets.progress import dataset_states
from crawling.models import Run
from crawling.uses.link_check.link_changes import PageLinkChanges
from crawling.uses.link_check.link_changes import list_link_changes as link_changes
from crawling.uses.link_check.link_check import SLOW_SECONDS, list_problems
from crawling.uses.link_check.problem_changes import ProblemChange, list_changed
from crawling.uses.link_check.problem_counts import MOST_COUNTED, counts_of
from crawling.uses.link_check.problem_kinds import ProblemKind
from crawling.uses.link_check.reports import list_broken, list_hosts, list_links, list_media
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

links = Router()
Key = Annotated[str, Query(max_length=5000, pattern=TEXT, description="`next` of the page before")]
Source = Annotated[
    str, Query(max_length=5000, pattern=TEXT, description="only links of this page, by its URL")
]
Target = Annotated[
    str, Query(max_length=5000, pattern=TEXT, description="only links to this URL: its back links")
]
TargetHost = Annotated[
    str, Query(max_length=300, pattern=TEXT, description="only links to this host")
]
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
BEHIND = (
    f"pages of the run whose links are not in the dataset yet; {MOST_BEHIND:,}: so many or more"
)


class DatasetPage(Schema):
    """Of a list that is made of the dataset."""

    behind: int = Field(description=BEHIND)
    next: str | None


class LinkSourceOut(Schema):
    page: str = Field(description="the URL of the page that has the link")
    fragment: str
    element: str = Field(description="empty: the page is no HTML, or a redirect")
    attribute: str = Field(description="`location`: it is a redirect")
    rel: str
    anchor: str = Field(description="its text, or the text in place of an image")
    place: str = Field(description="nav, header, footer, aside, main or article; or empty")


class LinkOut(LinkSourceOut):
    target: str


class LinkPage(DatasetPage):
    items: list[LinkOut]


class BrokenLinkOut(Schema):
    id: int
    url: str
    status: int
    meaning: str
    error: str
    links: int = Field(description="how many lead to it")
    sources: list[LinkSourceOut] = Field(
        description="the first twenty; `links?target=` has all of them"
    )


class BrokenLinkPage(Schema):
    behind: int = Field(description=BEHIND)
    items: list[BrokenLinkOut]
    next: int | None


class LinkProblemOut(Schema):
    kind: ProblemKind
    url: str = Field(description="the address that has the problem")
    detail: str
    status: int | None
    chain: list[str] = Field(description="where redirects lead, one after the other")
    links: int = Field(description="how many lead to it; 0 where the page itself is to be mended")
    sources: list[LinkSourceOut] = Field(
        description="the first twenty; `links?target=` has all of them"
    )


class ProblemCountOut(Schema):
    kind: ProblemKind
    problems: int = Field(description=f"{MOST_COUNTED:,}: so many or more")


class LinkProblemPage(DatasetPage):
    items: list[LinkProblemOut]
    counts: list[ProblemCountOut] = Field(
        description="of each kind that a background job has counted; it does so once the run has "
        "ended and its pages are read, and counts anew after changes"
    )


class LinkCheckOut(Schema):
    unread_parts: int = Field(description="parts of the links dataset whose pages wait for it")


class DatasetOut(Schema):
    name: str = Field(description="links, texts, structured data or search")
    behind: int = Field(
        description=f"pages of the run that are not in it yet; {MOST_BEHIND:,}: so many or more"
    )


class DatasetList(Schema):
    items: list[DatasetOut]


class MediaOut(Schema):
    url: str
    element: str
    links: int
    pages: int
    text: str = Field(description="the text in its place, where a page has one")
    without_text: int = Field(description="images of it without such a text")
    status: int | None = Field(description="null: it was not fetched")
    content_type: str
    bytes: int | None


class MediaPage(DatasetPage):
    items: list[MediaOut]


class LinkedHostOut(Schema):
    host: str
    links: int
    targets: int = Field(description="URLs of the host that they lead to")


class LinkedHostPage(DatasetPage):
    items: list[LinkedHostOut]


@links.get(
    "/{crawl_id}/links",
    response=LinkPage,
    summary="Links of a run's pages, with anchor text and place",
)
@may_view
def list_crawl_links(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    page: Source = "",
    target: Target = "",
    host: TargetHost = "",
    cursor: Key = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    """Of links of a page that have the same element and URL the first with a text is listed."""
    one = get_run(crawl_id, run)
    return _page(
        one, *list_links(one, page=page, target=target, host=host, after=cursor, most=limit)
    )


@links.get(
    "/{crawl_id}/reports/broken-links",
    response=BrokenLinkPage,
    summary="URLs that failed, with the links to them",
)
@may_view
def list_broken_links(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """A page may be short although there are more: only `next` shows the end."""
    one = get_run(crawl_id, run)
    return _page(one, *list_broken(one, after=cursor or 0, most=limit))


@links.get(
    "/{crawl_id}/reports/problems",
    response=LinkProblemPage,
    summary="Link check: problems of links and pages, of a kind",
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
    cursor: Key = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    """A page may be short although there are more: only `next` shows the end."""
    one = get_run(crawl_id, run)
    if against is None:
        found = list_problems(one, kind, slow_seconds=slow_seconds, after=cursor, most=limit)
    else:
        old = get_run(crawl_id, against)
        found = list_changed(old, one, kind, change, after=cursor, most=limit)
    return {**_page(one, *found), "counts": list(counts_of(one).values())}


@links.post(
    "/{crawl_id}/links/check",
    response={202: LinkCheckOut},
    summary="Read a run's pages again, for missing fragments and errors of HTML",
)
@may_change
def check_crawl_links(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> Status:
    """A background job does it; the kinds `fragment`, `malformed` and `html` of
    `reports/problems` need it.
    """
    return Status(202, {"unread_parts": ask_reading(get_run(crawl_id, run), by=request.user)})


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
    return {"items": [asdict(state) for state in dataset_states(get_run(crawl_id, run))]}


@links.get(
    "/{crawl_id}/reports/media",
    response=MediaPage,
    summary="Images, sound and film that pages show",
)
@may_view
def list_media_files(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    cursor: Key = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    one = get_run(crawl_id, run)
    return _page(one, *list_media(one, after=cursor, most=limit))


@links.get("/{crawl_id}/reports/hosts", response=LinkedHostPage, summary="Hosts that links lead to")
@may_view
def list_linked_hosts(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    cursor: Key = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    one = get_run(crawl_id, run)
    return _page(one, *list_hosts(one, after=cursor, most=limit))


class LinkChangePage(DatasetPage):
    items: list[PageLinkChanges]


@links.get(
    "/{crawl_id}/link-changes",
    response=LinkChangePage,
    summary="Compare the links of two runs, by page",
)
@may_view
def list_link_changes(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    against: Against,
    run: RunNumber = None,
    cursor: Key = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    """Pages whose links are the same in both runs are not listed."""
    old, new = get_run(crawl_id, against), get_run(crawl_id, run)
    return _page(new, *link_changes(old, new, after=cursor, most=limit))


def _page(run: Run, items: list[Any], following: str | int | None) -> dict[str, Any]:
    return {
        "behind": pages_behind(run),
        "items": items,
        "next": following,
    }


ROUTERS = (("/crawls", links, "results"),)
