"""What an order says of pages that another crawl has fetched lately."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, field_validator
from pydantic_core import PydanticCustomError

LONGEST_SECONDS = 31 * 24 * 3600


class ReuseOrder(BaseModel):
    """reuse_seconds: a page that another crawl fetched so many seconds ago at most is taken from there; 0: every page is asked for."""

    reuse_seconds: Annotated[int, Field(ge=0, le=LONGEST_SECONDS)] = 0

    @field_validator("reuse_seconds", mode="before")
    @classmethod
    def _is_number(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise PydanticCustomError("int_type", "a truth value is no number")
        return value
