"""`/api/v1/crawls/{id}/schedule`: when a crawl starts automatically."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any

from django.http import Http404
from ninja import Body, Query, Router, Status
from pydantic import Field, WithJsonSchema

from crawling.dashboard.base.api_parameters import CrawlId, Limit, may_change, may_view
from crawling.dashboard.base.requests import get_crawl
from crawling.dashboard.base.schedule import ScheduledCrawl, plan_of, scheduled_crawls
from crawling.models import CrawlJob
from crawling.orders.schedules import ScheduleTiming
from crawling.runs.crawls.schedules import remove_schedule, set_schedule
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

schedules, all_schedules = Router(), Router()
TIMING = ScheduleTiming.model_json_schema(ref_template="#/components/schemas/{model}")
TIMING["properties"]["catch_up"] = {"type": "string", "enum": ["once", "skip"], "default": "once"}
TIMING.pop("$defs", None)
EXAMPLE = {"cron": "30 2 * * 1-5", "time_zone": "Europe/Berlin", "catch_up": "once"}
#: the number of schedules before this place
ListPlace = Annotated[int, Query(ge=0, le=1_000_000, description="`next` of the previous page")]
#: read by `crawling.orders.schedules`, as on pages and on the command line
Wish = Annotated[dict[str, Any], WithJsonSchema({**TIMING, "examples": [EXAMPLE]})]


class StartOut(Schema):
    due_at: datetime
    run: int | None = Field(description="the number of the run that was started")
    outcome: str


class ScheduleOut(Schema):
    cron: str
    every_minutes: int | None
    fastest_minutes: int | None = None
    pace_minutes: int | None = Field(
        description="current interval of a schedule with `fastest_minutes`"
    )
    time_zone: str
    catch_up: str
    is_on: bool
    in_words: str
    next_starts: list[datetime] = Field(
        description="the next five times; empty while it is disabled"
    )
    starts: list[StartOut] = Field(description="results of the last starts, the latest first")


class ScheduledCrawlPage(Schema):
    items: list[ScheduledCrawl]
    next: int | None


@all_schedules.get("", response=ScheduledCrawlPage, summary="List all schedules, next start first")
@may_view
def list_schedules(
    request: AuthenticatedRequest, cursor: ListPlace = 0, limit: Limit = 50
) -> dict[str, Any]:
    rows, following = scheduled_crawls(after=cursor, limit=limit)
    return {"items": rows, "next": following}


def _schedule_out(crawl: CrawlJob) -> ScheduleOut:
    plan = plan_of(crawl)
    if plan is None:
        raise Http404(f"{crawl.name} has no schedule.")
    starts = [
        StartOut(due_at=row.due_at, run=row.run.number if row.run else None, outcome=row.outcome)
        for row in plan.starts
    ]
    return ScheduleOut(
        **plan.timing,
        pace_minutes=plan.pace_minutes,
        in_words=plan.in_words,
        next_starts=list(plan.upcoming),
        starts=starts,
    )


@schedules.get(
    "/{crawl_id}/schedule",
    response=ScheduleOut,
    summary="Get the schedule of a crawl, and the results of the last starts",
)
@may_view
def get_crawl_schedule(request: AuthenticatedRequest, crawl_id: CrawlId) -> ScheduleOut:
    return _schedule_out(get_crawl(crawl_id))


@schedules.put("/{crawl_id}/schedule", response=ScheduleOut, summary="Set the schedule of a crawl")
@may_change
def set_crawl_schedule(
    request: AuthenticatedRequest, crawl_id: CrawlId, wish: Annotated[Wish, Body()]
) -> ScheduleOut:
    """By `cron` or by an interval. While a run is active, no other is started; the list of starts
    records this.
    """
    crawl = get_crawl(crawl_id)
    set_schedule(crawl, wish, by=request.user)
    return _schedule_out(crawl)


@schedules.delete(
    "/{crawl_id}/schedule", response={204: None}, summary="Delete the schedule of a crawl"
)
@may_change
def delete_crawl_schedule(request: AuthenticatedRequest, crawl_id: CrawlId) -> Status:
    remove_schedule(get_crawl(crawl_id), by=request.user)
    return Status(204, None)
