"""`/api/v1/crawls/{id}/…`: what was taken out of pages, which pages are alike, and which addresses
look like a trap's.
"""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from dataclasses import asdict
from typing import Annotated, Any, Literal

from ninja import Body, Path, Query, Router
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import (
    LARGEST,
    CrawlId,
    Cursor,
    Limit,
    RunNumber,
    Text,
    may_change,
    may_view,
)
from crawling.dashboard.base.requests import get_crawl, get_run
from crawling.dashboard.pages.downloads import list_extracted
from crawling.dashboard.pages.duplicates import SimilarityKind, list_alike
from crawling.dashboard.pages.trap_patterns import list_traps
from crawling.runs.crawls.traps import approve_trap, ban_trap
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

documents = Router()
Kind = Annotated[
    SimilarityKind,
    Query(description="exact copies, near copies, or pages with another canonical URL"),
]
#: keys have 64 bits, and programs that read JSON often have 53: they go out as text
Key = Annotated[str, Path(pattern=r"^-?[0-9]{1,19}$", description="`key` of a pattern")]


class ExtractedOut(Schema):
    id: int
    url: str
    name: str = Field(description="of the rule")
    value: str


class ExtractedPage(Schema):
    items: list[ExtractedOut]
    next: int | None


class SimilarPageOut(Schema):
    """A page and the first similar page; `distance`: differing bits of the simhashes."""

    id: int = Field(description="of the page, as in the list of changes")
    url: str
    of_id: int | None = Field(description="null for a canonical URL")
    of: str
    kind: str
    distance: int
    title: str
    bytes: int


class SimilarPageList(Schema):
    items: list[SimilarPageOut]
    next: int | None


class TrapOut(Schema):
    """A pattern of addresses that differ by numbers, ids and values only.

    fresh: pages with new content.
    """

    key: str
    pattern: str
    state: str = Field(description="quarantined, approved or banned")
    rule: str
    reason: str
    fetched: int
    fresh: int
    held: int = Field(description="URLs that wait for an operator's decision")
    samples: list[str]


class TrapPage(Schema):
    items: list[TrapOut]
    next: int | None


class TrapWordIn(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"verdict": "ban"}]})
    verdict: Literal["approve", "ban"]


class TrapRulingOut(Schema):
    urls: int = Field(description="URLs that were queued, or excluded")


@documents.get(
    "/{crawl_id}/extracted",
    response=ExtractedPage,
    summary="List extracted fields",
)
@may_view
def list_extracted_rows(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    name: Text = "",
    cursor: Cursor = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """`name` is the name of a rule."""
    rows, following = list_extracted(
        get_run(crawl_id, run), name=name, after=cursor or 0, limit=limit
    )
    return {
        "items": [
            {"id": row.pk, "url": row.url.url, "name": row.name, "value": row.value} for row in rows
        ],
        "next": following,
    }


@documents.get("/{crawl_id}/duplicates", response=SimilarPageList, summary="List duplicates")
@may_view
def list_crawl_duplicates(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    kind: Kind = SimilarityKind.EXACT,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """Near copies exclude exact copies."""
    rows, following = list_alike(get_run(crawl_id, run), kind, after=cursor or 0, limit=limit)
    return {"items": [asdict(row) for row in rows], "next": following}


@documents.get(
    "/{crawl_id}/traps",
    response=TrapPage,
    summary="List patterns of possible crawler traps, with samples",
)
@may_view
def list_crawl_traps(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    views, following = list_traps(get_run(crawl_id, run), after=cursor or 0, limit=limit)
    return {"items": [{**asdict(view), "key": str(view.key)} for view in views], "next": following}


@documents.post(
    "/{crawl_id}/traps/{key}",
    response=TrapRulingOut,
    summary="Approve or ban a pattern of the latest run",
)
@may_change
def judge_crawl_trap(
    request: AuthenticatedRequest, crawl_id: CrawlId, key: Key, word: Annotated[TrapWordIn, Body()]
) -> dict[str, Any]:
    """Approve: its URLs are fetched, even if the run has ended.

    Ban: its URLs are excluded, also those found later.
    """
    decide = approve_trap if word.verdict == "approve" else ban_trap
    return {
        "urls": decide(get_crawl(crawl_id), max(-LARGEST, min(int(key), LARGEST)), by=request.user)
    }
