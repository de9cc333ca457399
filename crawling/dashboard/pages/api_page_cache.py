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
    count: float = Field(description="recent requests; the count halves every hour")
    wanted: int = Field(description="requests while another crawl's fetch was fresh")
    reused: int = Field(
        description="requests that reused it; otherwise the server forbade it, or the copy was "
        "deleted"
    )
    wanted_at: datetime


class PageCacheOut(Schema):
    crawls: int = Field(description="started crawls that may reuse pages")
    answers: int = Field(description="answers of their runs, reused or fetched")
    saved: int = Field(description="answers reused from other crawls, without a request")
    hit_rate: float
    hot: list[PopularPageOut] = Field(description="most requested first")


@cache.get(
    "",
    response=PageCacheOut,
    summary="Get requests saved by reusing pages of other crawls, and the most requested pages",
)
@may_view
def get_page_cache(request: AuthenticatedRequest, limit: Limit = 50) -> dict[str, Any]:
    found = page_cache(most=limit)
    return {**asdict(found), "hit_rate": found.hit_rate}
