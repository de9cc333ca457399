"""`/api/v1/crawls/{id}/freshness`: the freshness of a crawl's pages, and the times of their next
visits.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from functools import partial
from typing import Annotated, Any

from ninja import Query, Router
from pydantic import Field

from crawling.dashboard.base.api_parameters import TEXT, CrawlId, Text, may_view
from crawling.dashboard.base.requests import get_crawl
from crawling.uses.revisits.expected_freshness import (
    FreshnessFigures,
    RevisitRow,
    RevisitSort,
    freshness_of,
    list_revisits,
)
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import listed
from serving.listing.sources import FoundList
from serving.schemas import Schema

freshness = Router()
Host = Annotated[str, Query(max_length=300, pattern=TEXT, description="only pages of this host")]


class HostFreshnessOut(Schema):
    host: str
    pages: int
    visits: int = Field(description="that compared a page with an earlier answer")
    changes: int = Field(description="of those, that found the page changed")
    visits_a_day: float = Field(description="planned for its pages")
    at_end: FreshnessFigures
    long_run: FreshnessFigures


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
    at_end: FreshnessFigures | None = Field(description="when it was planned")
    policies: dict[str, FreshnessFigures] = Field(
        description="in the long run, by each policy with the same budget"
    )
    hosts: list[HostFreshnessOut] = Field(description="at most 500, those with the most pages")


@freshness.get(
    "/{crawl_id}/freshness", response=FreshnessOut, summary="How fresh the pages of a crawl are"
)
@may_view
def get_freshness(request: AuthenticatedRequest, crawl_id: CrawlId) -> Any:
    """Expected from the change rates that its visits show."""
    return freshness_of(get_crawl(crawl_id))


@listed(
    freshness,
    "/{crawl_id}/freshness/pages",
    FoundList(RevisitRow),
    summary="Pages of a crawl by change rate or next visit",
    longest_key=100,
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
) -> partial[Any]:
    """`q` is a part of the address."""
    return partial(list_revisits, get_crawl(crawl_id), sort, text=q, host=host)


ROUTERS = (("/crawls", freshness, "results"),)
