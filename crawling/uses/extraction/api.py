"""`/api/v1/crawls/{id}/extract…` and `/pages/{page}/tables`: previews of rules on stored pages,
reading a run again for rules, and the tables of a page.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from functools import partial
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import HttpResponse
from ninja import Body, Path, Query, Router, Status
from pydantic import ConfigDict, Field

from crawling.base.errors import BadOrder, NotFound
from crawling.dashboard.base.api_parameters import (
    LARGEST,
    TEXT,
    CrawlId,
    RunNumber,
    may_change,
    may_view,
)
from crawling.dashboard.base.job_answers import CancellableOut, InquiryOut, answer_of, job_facts
from crawling.dashboard.base.requests import get_crawl, get_page, get_run
from crawling.jobs.job_rows import visible_jobs
from crawling.models import BackgroundJob
from crawling.orders.sections.reading import MAX_RULES
from crawling.uses.extraction.asked import (
    preview_of_inquiry,
    request_preview,
    request_tables,
    tables_of_inquiry,
)
from crawling.uses.extraction.extractor_api import named
from crawling.uses.extraction.jobs import EXTRACTION, request_extraction, rules_by_extractor
from crawling.uses.extraction.page_tables import StoredTable
from crawling.uses.extraction.rule_previews import checked_rules, read_rules
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import listed
from serving.listing.sources import QueryList
from serving.schemas import Schema

extraction = Router()
Rules = Annotated[
    str,
    Query(
        min_length=1,
        max_length=5000,
        pattern=TEXT,
        description="rules, one a line: a name, =, and a CSS selector, like price = span.price",
    ),
]
PageId = Annotated[int, Path(ge=1, le=LARGEST, description="`id` of a page")]


class RuleMatchesOut(Schema):
    name: str = Field(description="of the rule")
    count: int
    values: list[str] = Field(description="the beginnings of the first five")


class TableSizeOut(Schema):
    number: int = Field(description="its place among the tables of the page, from 1")
    caption: str
    columns: int
    rows: int


class PageMatchesOut(Schema):
    id: int
    url: str
    rules: list[RuleMatchesOut]
    tables: list[TableSizeOut] = Field(description="`pages/{id}/tables` has their rows")
    trouble: str = Field(description="why it could not be read; empty: it was")


class RulePreviewOut(Schema):
    pages: list[PageMatchesOut] = Field(description="the latest, twenty at most")
    counts: dict[str, int] = Field(description="values on all these pages, by rule")


class ExtractionIn(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"rules": {"price": "span.price"}}]}
    )

    rules: Annotated[dict[str, str], Field(max_length=MAX_RULES)] = Field(
        {}, description="CSS selectors by name; `::attr(NAME)` behind one extracts an attribute"
    )
    extractor: Annotated[str, Field(max_length=120)] = Field(
        "",
        description="instead of rules: the name of an extractor, whose newest revision counts, "
        "or `NAME@REVISION`",
    )


class ExtractionOut(CancellableOut):
    id: int
    run: int = Field(description="its number")
    state: str = Field(description="waiting, working, extracted, cancelled or failed")
    rules: dict[str, str]
    extractor: str = Field(description="whose rules are among them, as NAME@REVISION; empty: none")
    pages: int = Field(description="whose rows were replaced")
    unreadable: int = Field(description="pages that kept their rows")
    rows: int
    asked_at: datetime
    ended_at: datetime | None
    trouble: str = Field(description="why it was given up")


def _extraction_facts(one: BackgroundJob) -> dict[str, Any]:
    counts = {name: one.progress.get(name, 0) for name in ("pages", "unreadable", "rows")}
    extractor = one.spec.get("extractor", "")
    return {**job_facts(one), **counts, "rules": one.spec["rules"], "extractor": extractor}


@extraction.get(
    "/{crawl_id}/extractions/previews",
    response={200: RulePreviewOut, 202: InquiryOut},
    summary="What extraction rules match on stored pages",
)
@may_view
def get_rule_preview(
    request: AuthenticatedRequest,
    response: HttpResponse,
    crawl_id: CrawlId,
    rules: Rules,
    run: RunNumber = None,
) -> Status:
    """Nothing is fetched or stored. A background job reads the pages; until it is done the answer
    is 202 with `Retry-After`.
    """
    inquiry = request_preview(get_run(crawl_id, run), read_rules(rules), by=request.user)
    return answer_of(request, response, inquiry, preview_of_inquiry(inquiry))


@listed(
    extraction,
    "/{crawl_id}/extractions",
    QueryList(ExtractionOut, is_oldest_first=True, read=partial(map, _extraction_facts)),
    summary="Runs of the crawl that were read again for extraction rules",
)
@may_view
def list_extractions(request: AuthenticatedRequest, crawl_id: CrawlId) -> QuerySet[BackgroundJob]:
    """Includes the progress of each, in the order of the requests."""
    rows = visible_jobs().filter(kind=EXTRACTION.name, run__crawl=get_crawl(crawl_id))
    return rows.select_related("run", "cancelled_by")


@extraction.post(
    "/{crawl_id}/extractions",
    response={202: ExtractionOut},
    summary="Extract again from a run's stored pages",
)
@may_change
def create_extraction(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    body: Annotated[ExtractionIn, Body()],
    run: RunNumber = None,
) -> Status:
    """Nothing is fetched. A background job replaces the rows of each page; the crawl's order, and
    the rules of its further runs, stay as they are.
    """
    one, extractor = get_run(crawl_id, run), ""
    if body.extractor and body.rules:
        raise BadOrder({"extractor": "give rules or an extractor, not both"})
    if body.extractor:
        extractor, rules = rules_by_extractor(one, body.extractor)
    else:
        rules = checked_rules(body.rules)
    job = request_extraction(one, rules, by=request.user, extractor=extractor)
    return Status(202, _extraction_facts(job))


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


@extraction.get(
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
    found, told = tables_of_inquiry(inquiry), None
    if found is not None:
        items = [_table_json(table) for table in found.tables]
        told = {"url": page.url.url, "more": found.more, "unread": found.unread, "items": items}
    return answer_of(request, response, inquiry, told, failure=_tables_unreadable)


def _tables_unreadable(why: str) -> NotFound:
    return NotFound(f"The tables cannot be read. {why}")


def _table_json(table: StoredTable) -> dict[str, Any]:
    names = ("number", "caption", "columns", "rows", "is_cut")
    return {name: getattr(table, name) for name in names}


ROUTERS = (("/crawls", extraction, "results"), ("/extractors", named, "results"))
