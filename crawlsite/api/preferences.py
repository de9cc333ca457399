"""`/api/v1/preferences`: how one likes the pages to look and behave."""

# No postponed annotations here: ninja reads them.

from typing import Annotated, Any, Literal

from ninja import Body, Router, Schema
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import may_view
from crawling.orders.fields import NUMBER
from crawlsite.preferences import (
    DENSITIES,
    REFRESHES,
    THEMES,
    preference_of,
    set_look,
    set_refresh,
)
from serving.access import AuthenticatedRequest

preferences = Router()


class Preferences(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"refresh_seconds": 5, "theme": "dark", "density": "compact"}]
        },
    )
    refresh_seconds: Annotated[Literal[*REFRESHES], NUMBER] = Field(  # type: ignore[valid-type]
        description="between two refreshes of a live page; 0: none"
    )
    theme: Literal[*THEMES] = Field(  # type: ignore[valid-type]
        "auto", description="auto: as the browser has it"
    )
    density: Literal[*DENSITIES] = Field(  # type: ignore[valid-type]
        "comfortable", description="of tables"
    )


@preferences.get("", response=Preferences, summary="How you like the pages to behave")
@may_view
def get_preferences(request: AuthenticatedRequest) -> dict[str, Any]:
    kept = preference_of(request.user)
    return {
        "refresh_seconds": kept.refresh_seconds,
        "theme": kept.theme,
        "density": kept.density,
    }


@preferences.put("", response=Preferences, summary="Choose it; it holds in every browser")
@may_view
def set_preferences(
    request: AuthenticatedRequest, wanted: Annotated[Preferences, Body()]
) -> dict[str, Any]:
    set_look(request.user, theme=wanted.theme, density=wanted.density)
    set_refresh(request.user, str(wanted.refresh_seconds))
    return wanted.dict()
