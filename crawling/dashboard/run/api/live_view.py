"""`/api/v1/crawls/{id}/live-view`: what the browsers of a run show now."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from base64 import b64encode
from dataclasses import asdict
from typing import Any

from ninja import Router
from pydantic import Field

from crawling.dashboard.base.api_parameters import CrawlId, RunNumber, may_view
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.run.open_pages import open_pages
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

live_views = Router()


class PageViewOut(Schema):
    url: str
    seconds: float = Field(description="since it was opened")
    memory_bytes: int = Field(description="the most that it had so far; 0: not measured yet")
    picture: str = Field(description="JPEG in Base64; empty: there is none yet")


class LiveViewOut(Schema):
    items: list[PageViewOut]
    why_none: str = Field(description="why no page is open, a sentence; empty: one is")


@live_views.get(
    "/{crawl_id}/live-view",
    response=LiveViewOut,
    summary="Get what the browsers of a run show now",
)
@may_view
def get_live_view(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> dict[str, Any]:
    """Work sessions make pictures, one a second, until 3 s after the last request."""
    found = open_pages(get_run(crawl_id, run))
    items = [{**asdict(view), "picture": b64encode(view.picture).decode()} for view in found.views]
    return {"items": items, "why_none": found.why_none}
