"""`/api/v1/crawls/{id}/pages/…`: pages as files."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from typing import Annotated, Any, Literal

from django.http import Http404, StreamingHttpResponse
from ninja import Path, Query, Router

from crawling.base.errors import ArchiveTrouble
from crawling.dashboard.base.api_parameters import (
    LARGEST,
    CrawlId,
    IsUnread,
    PageStatus,
    RunNumber,
    Since,
    Text,
    Until,
    may_change,
    may_view,
)
from crawling.dashboard.base.requests import get_page, get_run
from crawling.dashboard.base.time_range import TimeRange
from crawling.dashboard.pages.downloads import page_file, rows_file, warc_file
from crawling.dashboard.pages.filter import PageFilter
from crawling.dashboard.pages.page_kinds import PageType
from crawling.dashboard.pages.rendering_filter import RenderingName
from serving.access import AuthenticatedRequest
from serving.downloads import send

downloads = Router()
PageId = Annotated[int, Path(ge=1, le=LARGEST, description="`id` of a page")]
Form = Annotated[
    Literal["csv", "jsonl"],
    Query(alias="format", description="a table, or one JSON object per line"),
]
FILE: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
ROWS: dict[str, Any] = {
    "responses": {
        200: {
            "description": "The rows",
            "content": {"text/csv": FILE, "application/x-ndjson": FILE},
        }
    }
}
RECORDS: dict[str, Any] = {
    "responses": {200: {"description": "A WARC file", "content": {"application/warc": FILE}}}
}


@downloads.get(
    "/{crawl_id}/pages/export",
    openapi_extra=ROWS,
    summary="Export pages in the order of their fetches",
)
@may_view
def export_crawl_pages(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    status: PageStatus = "",
    q: Text = "",
    since: Since = None,
    until: Until = None,
    unread: IsUnread = False,
    type: PageType = "",
    rendering: RenderingName = "",
    form: Form = "jsonl",
) -> StreamingHttpResponse:
    """The fields are those of the list of pages. `q` is a part of the URL or title."""
    wanted = PageFilter(q, status, TimeRange(since, until), unread, type, rendering=rendering)
    return send(rows_file(get_run(crawl_id, run), wanted, form))


@downloads.get(
    "/{crawl_id}/pages/warc",
    openapi_extra=RECORDS,
    summary="Export archived pages of a run as a WARC file",
)
@may_change
def export_crawl_warc(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    status: PageStatus = "",
    q: Text = "",
    since: Since = None,
    until: Until = None,
    unread: IsUnread = False,
    type: PageType = "",
    rendering: RenderingName = "",
) -> StreamingHttpResponse:
    """With a filter: the matching pages, with the records of their payloads; without: the whole
    archive of the run.
    """
    try:
        wanted = PageFilter(q, status, TimeRange(since, until), unread, type, rendering=rendering)
        return send(warc_file(get_run(crawl_id, run), wanted))
    except ArchiveTrouble as trouble:
        raise Http404(str(trouble)) from trouble


@downloads.get(
    "/{crawl_id}/pages/{page_id}/warc",
    openapi_extra=RECORDS,
    summary="Export a page as a WARC file",
)
@may_change
def export_page_warc(
    request: AuthenticatedRequest, crawl_id: CrawlId, page_id: PageId
) -> StreamingHttpResponse:
    try:
        return send(page_file(get_page(crawl_id, page_id)))
    except ArchiveTrouble as trouble:
        raise Http404(str(trouble)) from trouble
