"""What an order says of pages that need not be asked for: another crawl has fetched them lately, or
they stay as they were.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, field_validator
from pydantic_core import PydanticCustomError

LONGEST_SECONDS = 31 * 24 * 3600
MOST_DAYS = 366


class ReuseOrder(BaseModel):
    """reuse_seconds: a page that another crawl fetched so many seconds ago at most is taken from
    there; 0: none is. revisit_days: a page that earlier runs found unchanged is left alone for as
    long as it has been so, but no longer than so many days;
        0: every run asks for it.
    """

    reuse_seconds: Annotated[int, Field(ge=0, le=LONGEST_SECONDS)] = 0
    revisit_days: Annotated[int, Field(ge=0, le=MOST_DAYS)] = 0

    @field_validator("reuse_seconds", "revisit_days", mode="before")
    @classmethod
    def _is_number(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise PydanticCustomError("int_type", "a truth value is no number")
        return value
