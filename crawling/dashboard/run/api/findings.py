"""`/api/v1/crawls/{id}/…`: the findings of a run."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal

from django.db.models import prefetch_related_objects
from django.utils import timezone
from ninja import Query, Router

from crawling.dashboard.base.api_parameters import (
    LARGEST,
    CrawlId,
    Cursor,
    IsUnread,
    Limit,
    PageStatus,
    RunNumber,
    Since,
    Text,
    Until,
    may_view,
)
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.base.time_range import TimeRange
from crawling.dashboard.pages.downloads import row_of
from crawling.dashboard.pages.field_columns import cells_of
from crawling.dashboard.pages.filter import PageFilter
from crawling.dashboard.pages.page_kinds import PageType
from crawling.dashboard.pages.rendering_filter import RenderingName
from crawling.dashboard.run.api.finding_schemas import (
    CauseList,
    FetchThreadList,
    HostPage,
    LogPage,
    MinutePage,
    PageRow,
)
from crawling.dashboard.run.charts import run_minutes
from crawling.dashboard.run.hosts import FOUND_FIRST, HostScope, host_rows, hosts_page
from crawling.dashboard.run.log import LogFilter, log_after, log_before
from crawling.dashboard.run.log import row_of as log_row
from crawling.dashboard.run.numbers import rows_of
from crawling.dashboard.run.pages import SORT_WORDS, pages_of
from crawling.dashboard.run.processes import fetch_threads_of
from crawling.models import Level, Page, Run, UrlState
from crawling.orders.sections.reading import MAX_RULES
from crawling.runs.failure_causes import failure_causes
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import listed
from serving.listing.sources import FoundList, QueryList

findings = Router()
After = Annotated[
    int | None,
    Query(
        ge=0,
        le=LARGEST,
        description="follow: only lines after the one of this id; instead of `cursor`",
    ),
]
LogLimit = Annotated[int, Query(ge=1, le=1000, description="lines per page")]
LevelName = Annotated[
    Literal["info", "warning", "error"], Query(description="at least of this level")
]


HasFields = Annotated[bool, Query(description="only pages with extracted fields")]
FieldNames = Annotated[
    list[str],
    Query(
        max_length=MAX_RULES,
        description="names of extracted fields, whose first values come with each page",
    ),
]
PageSort = Annotated[
    Literal["", *SORT_WORDS],  # type: ignore[valid-type]
    Query(description="the column, falling with `-`; empty: in the order of finding"),
]


@listed(
    findings,
    "/{crawl_id}/pages",
    FoundList(PageRow, goes_by_number=True),
    summary="List pages",
)
@may_view
def list_crawl_pages(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    status: PageStatus = "",
    q: Text = "",
    since: Since = None,
    until: Until = None,
    unread: IsUnread = False,
    type: PageType = "",
    sort: PageSort = "",
    has_fields: HasFields = False,
    rendering: RenderingName = "",
    fields: FieldNames = [],  # noqa: B006 - read only
) -> partial[Any]:
    """`q` is a part of the URL or title."""
    wanted = PageFilter(q, status, TimeRange(since, until), unread, type, has_fields, rendering)
    one, names = get_run(crawl_id, run), list(fields)
    if sort:
        return partial(_sorted_pages, one, wanted, sort, names)
    found = wanted.of(one).select_related("url", "run__crawl", "archive_file")
    return partial(
        QueryList(dict, is_oldest_first=True, read=partial(_pages_json, one, names)).page, found
    )


def _pages_json(run: Run, names: list[str], pages: Sequence[Page]) -> list[dict[str, Any]]:
    return [
        row_of(page) | {"fields": dict(zip(names, cells, strict=True))}
        for page, cells in zip(pages, cells_of(run, pages, names), strict=True)
    ]


def _sorted_pages(
    run: Run,
    wanted: PageFilter,
    sort: str,
    names: list[str],
    *,
    after: int | None = None,
    most: int,
) -> tuple[list[dict[str, Any]], int | None]:
    window = pages_of(run, wanted, most=most, sort=sort, after=after)
    prefetch_related_objects(window.pages, "run__crawl", "archive_file")
    return _pages_json(run, names, window.pages), window.following


@findings.get(
    "/{crawl_id}/fetch-threads",
    response=FetchThreadList,
    summary="List fetch threads with their URLs",
)
@may_view
def list_fetch_threads(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> dict[str, Any]:
    """The running shifts write this once a second."""
    return {"items": fetch_threads_of(rows_of(get_run(crawl_id, run)).live_shifts)}


@findings.get(
    "/{crawl_id}/hosts",
    response=HostPage,
    summary="List hosts with their queues, in the order in which they were found",
)
@may_view
def list_crawl_hosts(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    q: Text = "",
    which: HostScope = HostScope.ALL,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """`q` is a part of the host's name. `which`: `crawl` has hosts in the scope of the run, `other`
    those that it asks outside of it, such as targets of checked links.
    """
    asked = get_run(crawl_id, run)
    queues, following = hosts_page(
        asked, text=q, sort=FOUND_FIRST, after=cursor, most=limit, which=which
    )
    return {"items": host_rows(asked, queues), "next": following}


@findings.get(
    "/{crawl_id}/log",
    response=LogPage,
    summary="List log lines, newest first, or those after a line",
)
@may_view
def list_log_lines(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    level: LevelName = "info",
    q: Text = "",
    since: Since = None,
    until: Until = None,
    cursor: Cursor = None,
    after: After = None,
    limit: LogLimit = 50,
) -> dict[str, Any]:
    """`q` is a part of the message or of its URL; a page may be short although more lines exist;
    only `next` marks the end.

    To follow the log send `after`, 0 at first: the oldest line comes first, and `next` is the next
    `after`. Lines of the last ten seconds are repeated, so that lines written late are not missed;
    their ids identify them.
    """
    asked, wanted = (
        get_run(crawl_id, run),
        LogFilter(Level[level.upper()], q, TimeRange(since, until)),
    )
    if after is not None:
        tail = log_after(asked, wanted, after=after, now=timezone.now(), most=limit)
        return {"items": [log_row(line) for line in tail.lines], "next": tail.following}
    window = log_before(asked, wanted, before=cursor, most=limit)
    return {"items": [log_row(line) for line in window.lines], "next": window.older}


@findings.get(
    "/{crawl_id}/failure-causes",
    response=CauseList,
    summary="List causes of failure, most frequent first",
)
@may_view
def list_failure_causes(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None, limit: Limit = 50
) -> dict[str, Any]:
    causes = failure_causes(get_run(crawl_id, run), most=limit)
    return {
        "items": [
            {
                "state": UrlState(cause.state).label,
                "status": cause.status,
                "meaning": cause.sentence,
                "reason": cause.reason,
                "urls": cause.urls,
                "example": cause.example,
            }
            for cause in causes
        ]
    }


@findings.get("/{crawl_id}/minutes", response=MinutePage, summary="List counts of a run by minute")
@may_view
def list_crawl_minutes(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    cursor: Annotated[
        int | None, Query(ge=0, le=2**32, description="`next` of the previous page")
    ] = None,
    limit: Limit = 60,
) -> dict[str, Any]:
    rows, following = run_minutes(get_run(crawl_id, run), after=cursor or 0, limit=limit)
    return {"items": [asdict(row) for row in rows], "next": following}
