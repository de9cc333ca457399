"""`/api/v1/crawls/{id}/freshness`: how fresh the pages of a crawl are, and when they are visited
again.
"""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from datetime import datetime
from typing import Annotated, Any

from ninja import Query, Router
from pydantic import Field

from crawling.dashboard.base.api_parameters import TEXT, CrawlId, Limit, Text, may_view
from crawling.dashboard.base.requests import get_crawl
from crawling.uses.revisits.expected_freshness import (
    RevisitSort,
    freshness_of,
    list_revisits,
)
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

freshness = Router()
Key = Annotated[str, Query(max_length=100, pattern=TEXT, description="`next` of the page before")]
Host = Annotated[str, Query(max_length=300, pattern=TEXT, description="only pages of this host")]


class FreshnessFiguresOut(Schema):
    freshness: float = Field(
        description="mean share of the time in which a page is as it was at its last visit"
    )
    age_days: float = Field(
        description="mean days since the first change that no visit has seen; 0 while a page is "
        "fresh"
    )


class HostFreshnessOut(Schema):
    host: str
    pages: int
    visits: int = Field(description="that compared a page with an earlier answer")
    changes: int = Field(description="of those, that found the page changed")
    visits_a_day: float = Field(description="planned for its pages")
    at_end: FreshnessFiguresOut
    long_run: FreshnessFiguresOut


class RevisitPlanOut(Schema):
    planned_at: datetime
    run_number: int = Field(description="the latest run that had ended")
    pages: int
    visits: int = Field(description="that compared a page with an earlier answer")
    changes: int = Field(description="of those, that found the page changed")


class FreshnessOut(Schema):
    visits_a_day: int = Field(description="of the order; 0: nothing is planned")
    policy: str
    plan: RevisitPlanOut | None = Field(description="null: no run has been planned after")
    at_end: FreshnessFiguresOut | None = Field(description="when it was planned")
    policies: dict[str, FreshnessFiguresOut] = Field(
        description="in the long run, by each policy with the same budget"
    )
    hosts: list[HostFreshnessOut] = Field(description="at most 500, those with the most pages")


class RevisitOut(Schema):
    id: int
    url: str
    host: str
    visits: int = Field(description="that compared it with an earlier answer")
    changes: int = Field(description="of those, that found it changed")
    rate: float = Field(description="changes a day, estimated")
    low: float = Field(description="lower end of an interval of 95 % for the rate")
    high: float = Field(description="its upper end")
    wait_days: float = Field(description="from one visit to the next")
    visited_at: datetime
    next_at: datetime = Field(description="the first run after it requests the page")


class RevisitList(Schema):
    items: list[RevisitOut]
    next: str | None


@freshness.get(
    "/{crawl_id}/freshness", response=FreshnessOut, summary="How fresh the pages of a crawl are"
)
@may_view
def get_freshness(request: AuthenticatedRequest, crawl_id: CrawlId) -> Any:
    """Expected by the change rates that its visits tell."""
    return freshness_of(get_crawl(crawl_id))


@freshness.get(
    "/{crawl_id}/freshness/pages",
    response=RevisitList,
    summary="Pages of a crawl by change rate or next visit",
)
@may_view
def list_freshness_pages(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    sort: Annotated[RevisitSort, Query(description="next visit or highest rate first")] = (
        RevisitSort.NEXT
    ),
    q: Text = "",
    host: Host = "",
    cursor: Key = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    """`q` is a part of the address."""
    rows, following = list_revisits(
        get_crawl(crawl_id), sort, text=q, host=host, after=cursor, most=limit
    )
    return {"items": rows, "next": following}


ROUTERS = (("/crawls", freshness, "results"),)
