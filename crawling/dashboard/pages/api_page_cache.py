"""`/api/v1/page-cache`: what reusing other crawls' pages has spared."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from dataclasses import asdict
from datetime import datetime
from typing import Any

from ninja import Router, Schema
from pydantic import Field

from crawling.dashboard.base.api_parameters import Limit, may_view
from crawling.dashboard.pages.page_cache import page_cache
from serving.access import AuthenticatedRequest

cache = Router()


class PopularPageOut(Schema):
    url: str
    count: float = Field(description="how often it was wanted of late; halves every hour")
    wanted: int = Field(description="times a crawl wanted it while another's fetch was fresh")
    reused: int = Field(
        description="times that fetch was taken; at the others the server had forbidden it, or "
        "the copy was gone"
    )
    wanted_at: datetime


class PageCacheOut(Schema):
    crawls: int = Field(description="crawls that may reuse pages and were started")
    answers: int = Field(description="of their runs, taken or fetched")
    saved: int = Field(description="of those, taken from other crawls: requests that were not made")
    hit_rate: float
    hot: list[PopularPageOut] = Field(description="the hottest first")


@cache.get(
    "",
    response=PageCacheOut,
    summary="Requests saved by reusing other crawls' pages, and the pages wanted most",
)
@may_view
def get_page_cache(request: AuthenticatedRequest, limit: Limit = 50) -> dict[str, Any]:
    found = page_cache(most=limit)
    return {**asdict(found), "hit_rate": found.hit_rate}
