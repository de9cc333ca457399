"""`/api/v1/crawls/{id}/…`: comparisons of two runs, and of the text of one page in both, and URLs
that a run has not fetched.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Path, Query, Router, Status
from pydantic import Field

from crawling.base.errors import ComparisonFailure, NotFound
from crawling.dashboard.base.api_parameters import (
    LARGEST,
    TEXT,
    Against,
    CrawlId,
    Limit,
    RunNumber,
    Text,
    may_view,
)
from crawling.dashboard.base.job_answers import InquiryOut, open_inquiry
from crawling.dashboard.base.requests import get_page, get_page_of_any, get_run
from crawling.dashboard.pages.not_fetched import NotFetched, not_fetched_urls, reasons_of
from crawling.dashboard.pages.page_cache import PopularPage, page_cache
from crawling.models import InquiryKind
from crawling.previews.inquiries import ask_once
from crawling.previews.run_comparison import (
    KINDS,
    ChangeFilter,
    ComparisonSummary,
    PageDifference,
    compare_runs,
)
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import ListAnswer, listed
from serving.listing.sources import FoundList
from serving.schemas import Schema

reports = Router()
Kind = Annotated[Literal["", *KINDS], Query(description="only pages with this change")]  # type: ignore[valid-type]
PageId = Annotated[int, Path(ge=1, le=LARGEST, description="of the list of changes")]
ReasonKey = Annotated[str, Query(max_length=40, pattern=TEXT, description="`key` of a reason")]
After = Annotated[
    str, Query(max_length=4000, pattern=TEXT, description="`next` of the previous page")
]
cache = Router()


@dataclass(frozen=True, kw_only=True)
class ChangeOut(PageDifference):
    diff: Annotated[
        str | None,
        Field(description="path of the comparison of its text; null if only one run has it"),
    ]


class LineOut(Schema):
    kind: str = Field(
        description="unchanged, removed, added; or skipped, for equal lines that are not listed"
    )
    text: str


class TextDiff(Schema):
    url: str
    old_crawl: int
    old_run: int
    new_run: int
    lines: list[LineOut] = Field(
        description="differences with three equal lines around each; empty: none"
    )


class ChangesOut(Schema):
    summary: ComparisonSummary
    items: list[ChangeOut]
    next: str | None
    as_of: datetime = Field(description="when the runs were compared")


class NotFetchedReasonOut(Schema):
    key: str
    kind: str = Field(
        description="excluded by a rule, excluded, failed, quarantined, or a duplicate"
    )
    words: str
    urls: int
    unlisted: int = Field(description="URLs that were only counted")


class NotFetchedReasons(Schema):
    reasons: list[NotFetchedReasonOut]
    items: list[NotFetched] = Field(description="the addresses of the reason asked for")


@listed(
    reports,
    "/{crawl_id}/not-fetched",
    FoundList(NotFetched, goes_by_number=True),
    summary="List URLs that a run has not fetched, by reason",
    beside=NotFetchedReasons,
)
@may_view
def list_not_fetched_urls(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None, reason: ReasonKey = ""
) -> ListAnswer:
    """`items` is empty unless `reason` is the key of a reason."""
    one = get_run(crawl_id, run)
    return ListAnswer(
        partial(not_fetched_urls, one, reason),
        lambda: {"reasons": reasons_of(one)},
    )


@reports.get(
    "/{crawl_id}/changes",
    response={200: ChangesOut, 202: InquiryOut},
    summary="Compare two runs: pages added, removed, changed, or with another status",
)
@may_view
def list_run_changes(
    request: AuthenticatedRequest,
    response: HttpResponse,
    crawl_id: CrawlId,
    against: Against,
    run: RunNumber = None,
    kind: Kind = "",
    host: Text = "",
    cursor: After = "",
    limit: Limit = 50,
) -> Status:
    """Runs of more than 20,000 pages together are compared by a background job; until it is done
    the answer is 202 with `Retry-After`.
    """
    old, new = get_run(crawl_id, against), get_run(crawl_id, run)
    wanted = ChangeFilter(limit, kind, host, cursor)
    told = compare_runs(old, new, wanted, by=request.user)
    if told.why_failed:
        raise ComparisonFailure(told.why_failed)
    if told.summary is None or told.rows is None:
        assert told.inquiry is not None, "a job is at what is not known yet"
        return open_inquiry(response, told.inquiry, request.get_full_path())
    page = {
        "summary": told.summary,
        "items": [_change_row(crawl_id, row) for row in told.rows],
        "next": told.following,
        "as_of": told.as_of,
    }
    return Status(200, page)


def _change_row(crawl_id: int, row: PageDifference) -> ChangeOut:
    is_in_both = row.old_id is not None and row.new_id is not None
    address = f"/api/v1/crawls/{crawl_id}/changes/{row.old_id}/{row.new_id}"
    return ChangeOut(**asdict(row), diff=address if is_in_both else None)


@reports.get(
    "/{crawl_id}/changes/{old_id}/{new_id}",
    response={200: TextDiff, 202: InquiryOut},
    summary="Compare the text of a page in two runs, line by line",
)
@may_view
def get_page_diff(
    request: AuthenticatedRequest,
    response: HttpResponse,
    crawl_id: CrawlId,
    old_id: PageId,
    new_id: PageId,
) -> Status:
    """The ids are those of the list of changes, or of any two pages: the new one of this crawl, the
    old one of any crawl. A background job compares the texts; until it is done the answer is 202
    with `Retry-After`. Documents outside this machine's archive, and documents other than text,
    cannot be compared.
    """
    old, new = get_page_of_any(old_id), get_page(crawl_id, new_id)
    question = {"old": old_id, "new": new_id}
    inquiry = ask_once(InquiryKind.TEXT_DIFF, question, by=request.user, run=new.run)
    if inquiry.is_open:
        here = f"/api/v1/crawls/{crawl_id}/changes/{old_id}/{new_id}"
        return open_inquiry(response, inquiry, here)
    if inquiry.why_failed:
        raise NotFound(f"The texts cannot be compared. {inquiry.why_failed}")
    lines = (inquiry.answer or {})["lines"]
    runs = {"old_crawl": old.run.crawl_id, "old_run": old.run.number, "new_run": new.run.number}
    return Status(200, {"url": new.url.url, **runs, "lines": lines})


class PageCacheOut(Schema):
    crawls: int = Field(description="started crawls that may reuse pages")
    answers: int = Field(description="answers of their runs, reused or fetched")
    saved: int = Field(description="answers reused from other crawls, without a request")
    hit_rate: float
    hot: list[PopularPage] = Field(description="most requested first")


@cache.get(
    "",
    response=PageCacheOut,
    summary="Get requests saved by reusing pages of other crawls, and the most requested pages",
)
@may_view
def get_page_cache(request: AuthenticatedRequest, limit: Limit = 50) -> dict[str, Any]:
    found = page_cache(most=limit)
    return {**asdict(found), "hit_rate": found.hit_rate}
