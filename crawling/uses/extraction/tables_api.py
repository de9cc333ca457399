"""`/api/v1/crawls/{id}/pages/{page}/tables`: the tables of a stored page."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Path, Router, Status
from pydantic import Field

from crawling.base.errors import NotFound
from crawling.dashboard.base.api_parameters import LARGEST, CrawlId, may_view
from crawling.dashboard.base.job_answers import InquiryOut, answer_of
from crawling.dashboard.base.requests import get_page
from crawling.uses.extraction.asked import request_tables, tables_in
from crawling.uses.extraction.page_tables import StoredTable
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

page_tables = Router()
PageId = Annotated[int, Path(ge=1, le=LARGEST, description="`id` of a page")]


class TableOut(Schema):
    number: int = Field(description="its place among the tables of the page, from 1")
    caption: str
    columns: int
    rows: list[list[str]] = Field(
        description="all of the same length; a cell that spans others is in each of them"
    )
    is_cut: bool = Field(description="it has more rows or longer texts than are read")


class TableList(Schema):
    url: str = Field(description="of the page")
    items: list[TableOut]
    more: int = Field(description="tables of the page behind these")
    unread: str = Field(description="why tables may be missing, a sentence; empty: all was read")


@page_tables.get(
    "/{crawl_id}/pages/{page_id}/tables",
    response={200: TableList, 202: InquiryOut},
    summary="Get the tables of a stored page as rows",
)
@may_view
def get_page_tables(
    request: AuthenticatedRequest, response: HttpResponse, crawl_id: CrawlId, page_id: PageId
) -> Status:
    """A background job reads the page in the archive; until it is done the answer is 202 with
    `Retry-After`. A page that is no HTML has none.
    """
    page = get_page(crawl_id, page_id)
    inquiry = request_tables(page, by=request.user)
    found, told = tables_in(inquiry), None
    if found is not None:
        items = [_out(table) for table in found.tables]
        told = {"url": page.url.url, "more": found.more, "unread": found.unread, "items": items}
    return answer_of(request, response, inquiry, told, failure=_unreadable)


def _unreadable(why: str) -> NotFound:
    return NotFound(f"The tables cannot be read. {why}")


def _out(table: StoredTable) -> dict[str, Any]:
    names = ("number", "caption", "columns", "rows", "is_cut")
    return {name: getattr(table, name) for name in names}
