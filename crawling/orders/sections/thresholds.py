"""When a run is to rest or to end by itself, and when somebody is to be told."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from crawling.orders.fields import NUMBER, Bytes

#: of fewer URLs a share says nothing
LEAST_ENDED = 20
DAY_MINUTES = 24 * 60

Minutes = Annotated[int, Field(ge=1, le=DAY_MINUTES), NUMBER]


class ThresholdsPart(BaseModel):
    """`None` as a threshold means none.

    max_error_percent: of the URLs that came to an end within error_minutes, at least LEAST_ENDED;
    more than that, and the run does what
        at_threshold says.
    min_free_bytes: what its worker's archive disk must have free; less, and the run does what
    at_threshold says. wait_alert_minutes: a run that has waited at the bank for so long is told of.
    """

    max_error_percent: Annotated[int, Field(ge=1, le=99), NUMBER] | None = None
    error_minutes: Minutes = 10
    min_free_bytes: Bytes | None = None
    at_threshold: Literal["pause", "stop"] = "pause"
    wait_alert_minutes: Minutes | None = 10
