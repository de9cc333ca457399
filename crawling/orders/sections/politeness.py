"""What a crawl spares the hosts and the line beyond its delay."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError


def _no_truth_value(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "a truth value is no number")
    return value


Number = BeforeValidator(_no_truth_value)
Requests = Annotated[int, Field(ge=1, le=1_000_000_000), Number]


class Politeness(BaseModel):
    """Fields of the order. `None` as a limit means no limit.

    delay_factor: a host rests for so many times as long as its last answer took, where that is
    longer than the delay; a delay of 0
        means that the host's owner wants no rest, and turns this off, too.
    address_delay_seconds: between the beginnings of two requests to one address, which several
    hosts may share, in all crawls; never
        more than the delay, so that a delay of 0 turns this off, too.
    host_requests_a_minute, host_requests_a_day: budgets of a host by UTC's minutes and days; what
    other crawls ask of it counts, too. host_patience_seconds: for how long a host that lets nothing
    be fetched is waited for; an hour at
        most where it has never answered. Then the URLs that wait for it fail.
    max_kib_a_second: what the crawl's workers may download together, within the bandwidth that the
    bank grants them.
    """

    model_config = ConfigDict(frozen=True)

    delay_factor: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False), Number] = 1.0
    address_delay_seconds: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False), Number] = 0.25
    host_requests_a_minute: Requests | None = None
    host_requests_a_day: Requests | None = None
    host_patience_seconds: Annotated[
        float, Field(ge=0, le=30 * 86400, allow_inf_nan=False), Number
    ] = 86400.0
    max_kib_a_second: Requests | None = None
