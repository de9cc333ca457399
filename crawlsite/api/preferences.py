"""`/api/preferences`: how one likes the pages to behave."""

# No postponed annotations here: ninja reads them.

from typing import Annotated, Any, Literal

from ninja import Body, Router, Schema
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import may_view
from crawling.orders.fields import NUMBER
from crawlsite.preferences import REFRESHES, refresh_seconds, set_refresh
from serving.access import AuthenticatedRequest

preferences = Router()


class Preferences(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"refresh_seconds": 5}]}
    )
    refresh_seconds: Annotated[Literal[*REFRESHES], NUMBER] = Field(  # type: ignore[valid-type]
        description="between two refreshes of a live page; 0: none"
    )


@preferences.get("", response=Preferences, summary="How you like the pages to behave")
@may_view
def show(request: AuthenticatedRequest) -> dict[str, Any]:
    return {"refresh_seconds": refresh_seconds(request.user)}


@preferences.put("", response=Preferences, summary="Choose it; it holds in every browser")
@may_view
def change(request: AuthenticatedRequest, wanted: Annotated[Preferences, Body()]) -> dict[str, Any]:
    return {"refresh_seconds": set_refresh(request.user, str(wanted.refresh_seconds))}
