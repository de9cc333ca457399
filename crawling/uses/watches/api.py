"""`/api/v1/crawls/{id}/watches`: changes of pages from run to run."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import LARGEST, CrawlId, may_change, may_view
from crawling.dashboard.base.requests import get_crawl
from crawling.installation.permissions import still_shared
from crawling.orders.fields import NUMBER
from crawling.orders.scope.url_rules import UrlRuleKind
from crawling.uses.watches import watching
from crawling.uses.watches.feed import feed_token
from crawling.uses.watches.models import PageEvent, Watch, WatchEvent
from crawling.uses.watches.watching import (
    LARGEST_PIXELS,
    LONGEST_IGNORED,
    LONGEST_SELECTOR,
    LONGEST_TEXT,
    MOST_IGNORED,
    WatchFields,
    events_of,
)
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import listed
from serving.listing.sources import QueryList
from serving.schemas import Schema

watches = Router()
Number = Annotated[int, Path(ge=1, le=LARGEST)]
KINDS = tuple(map(str, UrlRuleKind))
Kind = Literal[*KINDS]  # type: ignore[valid-type]
Event = Literal[*PageEvent.values]  # type: ignore[valid-type]


Side = Annotated[int, NUMBER, Field(ge=0, le=LARGEST_PIXELS)]
Region = Annotated[list[Side], Field(min_length=4, max_length=4)]


class WatchIn(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"kind": "pattern", "text": "/prices/", "selector": "main", "ignore_numbers": False}
            ]
        },
    )
    kind: Kind
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)] = Field(
        description="the URL, a regular expression of RE2, or the host"
    )
    selector: Annotated[str, Field(max_length=LONGEST_SELECTOR)] = Field(
        "", description="CSS selector of what is compared; empty: the whole text"
    )
    events: Annotated[list[Event], Field(min_length=1)] = Field(PageEvent.values)
    ignore: Annotated[
        list[Annotated[str, Field(max_length=LONGEST_IGNORED)]], Field(max_length=MOST_IGNORED)
    ] = Field([], description="expressions of RE2; what they match is no change")
    ignore_numbers: bool = Field(False, description="numbers, times and dates in figures, too")
    picture_percent: Annotated[float, NUMBER, Field(ge=0, le=100)] | None = Field(
        None,
        description="compare screenshots: the share of pixels, in per cent, that must differ; "
        "null: compare texts",
    )
    ignored_regions: Annotated[list[Region], Field(max_length=MOST_IGNORED)] = Field(
        [], description="parts of screenshots: left, top, width and height in pixels"
    )


class WatchOut(Schema):
    id: int
    kind: str
    text: str
    selector: str
    events: list[str]
    ignore: list[str]
    ignore_numbers: bool
    picture_percent: float | None = Field(description="null: texts are compared")
    ignored_regions: list[list[int]]
    by: str
    created_at: datetime
    compared_until: datetime = Field(description="runs that ended until then are compared")
    note: str = Field(description="what the latest comparison does not cover, a sentence")
    feed: str = Field(
        description="secret address of its Atom feed; empty for viewers, and once the user who "
        "made the watch may not act on the crawl any more: `renew` takes it over"
    )


class WatchList(Schema):
    items: list[WatchOut]


class DiffLineOut(Schema):
    kind: str = Field(description="unchanged, removed, added or skipped")
    text: str


class WatchEventOut(Schema):
    id: int
    watch: int
    run: int
    event: Event
    url: str
    found_at: datetime
    page: int | None = Field(description="id of the page in the run")
    earlier: int | None = Field(description="id of the page in the earlier run")
    note: str = Field(description="a sentence, where there is no diff")
    picture_share: float | None = Field(
        description="of the pixels that differ, 0 to 1; null: texts were compared"
    )
    diff: list[DiffLineOut]


@watches.get("/{crawl_id}/watches", response=WatchList, summary="List the watches of a crawl")
@may_view
def list_watches(request: AuthenticatedRequest, crawl_id: CrawlId) -> dict[str, Any]:
    may_change = request.user.has_perm("crawling.change_crawljob")
    crawl = get_crawl(crawl_id)
    found = list(Watch.objects.filter(crawl=crawl).select_related("created_by"))
    open_feeds = still_shared(crawl, found) if may_change else set()
    return {"items": [watch_row(watch, with_feed=watch.pk in open_feeds) for watch in found]}


@watches.post(
    "/{crawl_id}/watches",
    response={201: WatchOut},
    summary="Watch a page, a pattern or a host from the next run on",
)
@may_change
def create_watch(
    request: AuthenticatedRequest, crawl_id: CrawlId, asked: Annotated[WatchIn, Body()]
) -> Status[dict[str, Any]]:
    fields = WatchFields(**asked.model_dump())
    return Status(
        201, watch_row(watching.create_watch(get_crawl(crawl_id), fields, by=request.user))
    )


@watches.post(
    "/{crawl_id}/watches/{watch_id}/renew",
    response=WatchOut,
    summary="Give the feed of a watch a new address; the old one opens nothing",
)
@may_change
def renew_watch_feed(
    request: AuthenticatedRequest, crawl_id: CrawlId, watch_id: Number
) -> dict[str, Any]:
    return watch_row(watching.renew_feed(get_crawl(crawl_id), watch_id, by=request.user))


@watches.delete(
    "/{crawl_id}/watches/{watch_id}",
    response={204: None},
    summary="Remove a watch with its events; it can be restored for a day",
)
@may_change
def delete_watch(
    request: AuthenticatedRequest, crawl_id: CrawlId, watch_id: Number
) -> Status[None]:
    watching.remove_watch(get_crawl(crawl_id), watch_id, by=request.user)
    return Status(204, None)


@watches.post(
    "/{crawl_id}/watches/{watch_id}/restore",
    response=WatchOut,
    summary="Restore a watch that was removed less than a day ago, with its events",
)
@may_change
def restore_watch(
    request: AuthenticatedRequest, crawl_id: CrawlId, watch_id: Number
) -> dict[str, Any]:
    return watch_row(watching.restore_watch(get_crawl(crawl_id), watch_id, by=request.user))


def event_row(event: WatchEvent) -> dict[str, Any]:
    names = ("url", "found_at", "page", "earlier", "note", "picture_share")
    return {
        "id": event.pk,
        "watch": event.watch_id,
        "run": event.run.number,
        "event": event.kind,
        "diff": event.diff_lines,
        **{name: getattr(event, name) for name in names},
    }


@listed(
    watches,
    "/{crawl_id}/watch-events",
    QueryList(WatchEventOut, read=partial(map, event_row)),
    summary="List what watches found, latest first",
)
@may_view
def list_watch_events(request: AuthenticatedRequest, crawl_id: CrawlId) -> QuerySet[WatchEvent]:
    return events_of(get_crawl(crawl_id))


def feed_address(watch: Watch) -> str:
    return settings.DASHBOARD_URL.rstrip("/") + reverse("watch-feed", args=[feed_token(watch)])


def watch_row(watch: Watch, *, with_feed: bool = True) -> dict[str, Any]:
    names = (
        *("kind", "text", "selector", "events", "ignore", "ignore_numbers"),
        *("picture_percent", "ignored_regions"),
        *("created_at", "compared_until", "note"),
    )
    return {
        "id": watch.pk,
        "by": watch.created_by.username if watch.created_by else "",
        "feed": feed_address(watch) if with_feed else "",
        **{name: getattr(watch, name) for name in names},
    }


ROUTERS = (("/crawls", watches, "results"),)
