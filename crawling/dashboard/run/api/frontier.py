"""`/api/v1/crawls/{id}/frontier`: waiting URLs, and an operator's changes to them; `…/directories`:
the run's sites as a tree.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import StreamingHttpResponse
from ninja import Query, Router
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import (
    LARGEST,
    TEXT,
    CrawlId,
    Cursor,
    Limit,
    RunNumber,
    Text,
    may_change,
    may_view,
)
from crawling.dashboard.base.requests import get_crawl, get_run
from crawling.dashboard.run.site_tree import COUNTED, directory_row, site_tree
from crawling.frontier.change.manual_order import UrlAction
from crawling.models import Url
from crawling.orders.order import MAX_SEEDS
from crawling.runs.crawls.added_seeds import add_seeds_to_crawl
from crawling.runs.waiting_urls import (
    FrontierFilter,
    change_found_urls,
    change_urls,
    frontier_of,
    url_lines,
    waiting_count,
)
from serving.access import AuthenticatedRequest
from serving.downloads import send, text_file
from serving.schemas import Schema

frontier = Router()
Place = Literal["waiting", "in hand", "quarantined", "taken out"]
InPlace = Annotated[Place, Query(description="which part of the queue")]
Host = Annotated[
    str,
    Query(
        max_length=260,
        pattern=TEXT,
        description="full name of a host, with its port unless it is the default",
    ),
]
TEXT_FILE: dict[str, Any] = {
    "responses": {
        200: {
            "description": "One URL per line",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    }
}
site_trees = Router()
Path = Annotated[
    str,
    Query(
        max_length=2000,
        pattern=TEXT,
        description="only entries of this directory, such as `example.org/manual/`; default: all "
        "hosts",
    ),
]


class UrlOut(Schema):
    id: int
    url: str
    host: str
    depth: int
    attempts: int
    rank: float = Field(
        description="lowest first among URLs of a lane; in a focused crawl the negated expected "
        "similarity"
    )
    lane: int = Field(description="-1: first of its host, 0: in the crawl's order, 1: last")
    due_at: datetime | None = Field(
        description="earliest time of the retry after a temporary failure"
    )
    error: str


class FrontierOut(Schema):
    items: list[UrlOut]
    next: int | None
    waiting: int = Field(description="number of waiting URLs of the run")


class UrlActionIn(Schema):
    """An action, and its URLs: those of `ids`, or else all that match the other fields, up to
    50,000.
    """

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"action": "first", "q": "/news/"}]}
    )
    action: UrlAction
    ids: (
        Annotated[
            list[Annotated[int, Field(ge=1, le=LARGEST, strict=True)]], Field(max_length=50_000)
        ]
        | None
    ) = None
    place: Place = "waiting"
    host: Annotated[str, Field(max_length=260, pattern=TEXT)] = ""
    q: Annotated[str, Field(max_length=200, pattern=TEXT)] = ""


class MoreSeeds(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"seeds": ["https://example.org/manual/"]}]}
    )
    seeds: Annotated[
        list[Annotated[str, Field(max_length=10_000, pattern=TEXT)]],
        Field(min_length=1, max_length=MAX_SEEDS),
    ]
    widen: bool = Field(
        False,
        strict=True,
        description="extend the scope to them where they are outside of it",
    )
    resume: bool = Field(
        False, strict=True, description="resume the latest run for them if it has ended"
    )


class AddedSeeds(Schema):
    added: list[str] = Field(description="new start URLs of the order, in canonical form")
    queued: int | None = Field(
        description="in the active run; null: there is none, and they are used by the next"
    )
    known: dict[str, str] = Field(
        description="start URLs that were known already, with their results"
    )
    revision: int
    without_secrets: list[str] = Field(
        description="origins of added start URLs that get no secret headers, since those were "
        "given for other sites; give `headers` anew to have them sent there"
    )


class ChangedUrlsOut(Schema):
    changed: int
    is_more: bool = Field(description="more URLs match than one request changes: repeat it")


@frontier.get(
    "/{crawl_id}/frontier",
    response=FrontierOut,
    summary="List queued URLs, by host in the order of visits, or those outside of the queue",
)
@may_view
def list_frontier_urls(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    place: InPlace = "waiting",
    host: Host = "",
    q: Text = "",
    cursor: Cursor = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """`q` is a part of the address."""
    looked_at = get_run(crawl_id, run)
    rows, following = frontier_of(
        looked_at, FrontierFilter(place, host.lower(), q, cursor), most=limit
    )
    return {
        "items": [_url(row) for row in rows],
        "next": following,
        "waiting": waiting_count(looked_at),
    }


@frontier.get(
    "/{crawl_id}/frontier/export",
    openapi_extra=TEXT_FILE,
    summary="Export the URLs, one per line",
)
@may_view
def export_frontier_urls(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    place: InPlace = "waiting",
    host: Host = "",
    q: Text = "",
) -> StreamingHttpResponse:
    found = get_run(crawl_id, run)
    lines = url_lines(found, FrontierFilter(place, host.lower(), q))
    return send(text_file(f"frontier-{crawl_id}-run-{found.number}", lines))


@frontier.post(
    "/{crawl_id}/frontier",
    response=ChangedUrlsOut,
    summary="Move URLs to the start or end of their host's queue, remove them from it, or put "
    "them back",
)
@may_change
def change_frontier_urls(
    request: AuthenticatedRequest, crawl_id: CrawlId, wanted: UrlActionIn
) -> dict[str, Any]:
    """Change URLs of the latest run.

    `put_back` applies to URLs that were removed, the others to waiting URLs; other URLs are
    skipped.
    """
    run = get_run(crawl_id, None)
    if wanted.ids is not None:
        return {
            "changed": change_urls(run, wanted.action, wanted.ids, by=request.user),
            "is_more": False,
        }
    changed, is_more = change_found_urls(
        run,
        wanted.action,
        FrontierFilter(wanted.place, wanted.host.lower(), wanted.q),
        by=request.user,
    )
    return {"changed": changed, "is_more": is_more}


@frontier.post(
    "/{crawl_id}/seeds", response=AddedSeeds, summary="Add start URLs, even while it runs"
)
@may_change
def add_crawl_seeds(
    request: AuthenticatedRequest, crawl_id: CrawlId, wanted: MoreSeeds
) -> dict[str, Any]:
    """The seeds are queued at once if a run is active. Repeating the request has no effect."""
    return asdict(
        add_seeds_to_crawl(
            get_crawl(crawl_id),
            wanted.seeds,
            by=request.user,
            widen=wanted.widen,
            resume=wanted.resume,
        )
    )


def _url(row: Url) -> dict[str, Any]:
    kept = {
        name: getattr(row, name)
        for name in ("url", "depth", "attempts", "rank", "lane", "due_at", "error")
    }
    # an annotation, which mypy does not see
    return {"id": row.pk, "host": getattr(row, "host_name"), **kept}  # noqa: B009


class SiteDirectoryOut(Schema):
    path: str
    urls: int = Field(description="at any depth")
    fetched: int
    failed: int
    bytes: int = Field(description="of the documents fetched")
    directories: int = Field(description="directly in it")


class SiteDirectoryList(Schema):
    items: list[SiteDirectoryOut]
    looked_at: int = Field(description="URLs that were counted")
    is_estimate: bool = Field(description=f"the run has more than {COUNTED:,} URLs")


@site_trees.get(
    "/{crawl_id}/directories",
    response=SiteDirectoryList,
    summary="Directories of the sites with counts and sizes, the most URLs first",
)
@may_view
def list_crawl_directories(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    path: Path = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    """Hosts without `path`, else the entries of that directory; request a longer `path` to go
    deeper."""
    tree = site_tree(get_run(crawl_id, run), path if not path or path.endswith("/") else f"{path}/")
    items = [
        {**directory_row(one), "directories": len(one.inside)} for one in tree.root.largest[:limit]
    ]
    return {"items": items, "looked_at": tree.looked_at, "is_estimate": tree.is_estimate}
