"""`PUT /api/v1/bulk-schedules`: one schedule for many crawls."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from typing import Annotated, Any

from ninja import Body, Router
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import may_change
from crawling.dashboard.crawls.api_bulk import BulkDoneOut, Ids
from crawling.dashboard.crawls.bulk import chosen
from crawling.dashboard.crawls.schedule_many import schedule_crawls
from crawling.dashboard.orders.api_schedules import EXAMPLE, Wish
from crawling.runs.crawls.schedules import LONGEST_SPREAD
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

many_schedules = Router()


class ManyIn(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"crawls": [3, 4], "schedule": {**EXAMPLE}, "over_minutes": 60}]
        },
    )
    crawls: Ids
    schedule: Annotated[Wish | None, Field(description="null: the schedules are removed")]
    over_minutes: Annotated[
        int,
        Field(ge=0, le=LONGEST_SPREAD, description="minutes over which the starts are spread"),
    ] = 0


@many_schedules.put(
    "", response=BulkDoneOut, summary="Set or remove the schedules of at most 500 crawls"
)
@may_change
def set_many_schedules(
    request: AuthenticatedRequest, asked: Annotated[ManyIn, Body()]
) -> dict[str, Any]:
    """Either all get it, but those on which you may not act, or, if it is wrong, none."""
    crawls = chosen("schedule", ids=asked.crawls, by=request.user)
    done = schedule_crawls(crawls, asked.schedule, over_minutes=asked.over_minutes, by=request.user)
    return {"chosen": len(crawls), **done._asdict()}
