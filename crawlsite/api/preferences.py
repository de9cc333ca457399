"""`/api/v1/preferences`: a user's preferences for the look and behaviour of pages."""

# No postponed annotations here, since django-ninja reads annotations.

from typing import Annotated, Any, Literal

from ninja import Body, Router
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import may_view
from crawling.orders.fields import NUMBER
from crawlsite.preferences import (
    COLUMNS,
    DENSITIES,
    REFRESHES,
    ROWS,
    THEMES,
    change_preference,
    preference_of,
)
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

preferences = Router()
LISTS = ", ".join(f"{name}: {', '.join(heads)}" for name, heads in COLUMNS.items())


class Preferences(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "refresh_seconds": 5,
                    "theme": "dark",
                    "density": "compact",
                    "time_zone": "Europe/Vienna",
                    "rows": 100,
                    "hidden_columns": {"crawls": ["excluded"]},
                }
            ]
        },
    )
    refresh_seconds: Annotated[Literal[*REFRESHES], NUMBER] = Field(  # type: ignore[valid-type]
        description="seconds between two refreshes of a live page; 0: none"
    )
    theme: Literal[*THEMES] = Field(  # type: ignore[valid-type]
        "auto", description="auto: as set in the browser"
    )
    density: Literal[*DENSITIES] = Field(  # type: ignore[valid-type]
        "comfortable", description="of tables"
    )
    time_zone: Annotated[str, Field(max_length=64)] = Field(
        "UTC", description="of times on pages; JSON and files are in UTC"
    )
    rows: Annotated[Literal[*ROWS], NUMBER] = Field(  # type: ignore[valid-type]
        0, description="of a page of a list; 0: as each list usually has"
    )
    hidden_columns: dict[str, list[str]] = Field(
        {}, description=f"columns that are not shown, by list. {LISTS}"
    )
    hides_first_steps: bool = Field(False, description="on the overview")


@preferences.get("", response=Preferences, summary="Get your preferences")
@may_view
def get_preferences(request: AuthenticatedRequest) -> dict[str, Any]:
    kept = preference_of(request.user)
    return {name: getattr(kept, name) for name in Preferences.model_fields}


@preferences.put("", response=Preferences, summary="Set your preferences, for every browser")
@may_view
def set_preferences(
    request: AuthenticatedRequest, wanted: Annotated[Preferences, Body()]
) -> dict[str, Any]:
    change_preference(request.user, wanted.dict())
    return wanted.dict()
