"""`/api/v1/news`: changes of pages and links, and the time up to which the user has read them."""

# No postponed annotations here, since django-ninja reads annotations.

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from ninja import Body, Query, Router, Status
from pydantic import AwareDatetime, ConfigDict, Field

from crawling.dashboard.base.api_parameters import LARGEST, may_view
from crawling.dashboard.base.requests import get_crawl
from crawling.installation.news import NewsItem, latest_news, pending_news
from crawlsite.news import feed_address, mark_read, unread_since
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import ListAnswer, listed
from serving.listing.sources import FoundList
from serving.schemas import Schema

news = Router()
OfCrawl = Annotated[int | None, Query(ge=1, le=LARGEST, description="id of a crawl: only its news")]


class PendingOut(Schema):
    crawl: int
    name: str = Field(description="of the crawl")
    run: int = Field(description="number of the run")
    labels: list[str] = Field(description="what of it is not compared: watched pages, broken links")


class NewsPage(Schema):
    pending: list[PendingOut] = Field(
        description="the latest runs that have ended and whose news are not known yet"
    )
    read_until: datetime = Field(description="news that were found later are unread")
    feed: str = Field(description="secret address of the Atom feed of all news")


class NewsRead(Schema):
    model_config = ConfigDict(json_schema_extra={"examples": [{"until": "2026-11-30T08:00:00Z"}]})
    until: AwareDatetime = Field(description="news that were found until then are read")


@listed(
    news,
    "",
    FoundList(NewsItem),
    summary="List the news of the last 30 days, latest first",
    beside=NewsPage,
)
@may_view
def list_news(request: AuthenticatedRequest, crawl: OfCrawl = None) -> ListAnswer:
    """Watched pages that changed, are gone or new, and links that broke or were fixed, by run."""
    of_crawl = None if crawl is None else get_crawl(crawl)
    find: Callable[..., Any] = partial(latest_news, crawl=of_crawl)
    user = request.user
    facts = {"read_until": unread_since(user), "feed": feed_address(user)}
    return ListAnswer(find, lambda: facts | {"pending": pending_news(of_crawl)})


@news.post("/mark-read", response={204: None}, summary="Mark news as read")
@may_view
def mark_news_read(
    request: AuthenticatedRequest, asked: Annotated[NewsRead, Body()]
) -> Status[None]:
    mark_read(request.user, asked.until)
    return Status(204, None)
