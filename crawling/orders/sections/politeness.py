"""The part of an order that protects hosts and the internet line, in addition to the crawl's
delay.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from crawling.orders.fields import NUMBER, Count, Question

MOST_PATIENCE_SECONDS = 30 * 86_400


class PolitenessPart(BaseModel):
    """`None` as a limit means no limit."""

    model_config = ConfigDict(frozen=True)

    delay_factor: Annotated[
        float,
        Field(ge=0, le=100, allow_inf_nan=False),
        NUMBER,
        Question(
            label="Adaptive delay, times the response time",
            help="Applies where it is longer than the delay above; at most 30 s. 0: off.",
            meaning="adaptive delay: factor of the last response time, where that is longer "
            "than the delay; off while the delay is 0",
        ),
    ] = 1.0
    address_delay_seconds: Annotated[
        float,
        Field(ge=0, le=60, allow_inf_nan=False),
        NUMBER,
        Question(
            label="Min. delay per IP address, in seconds",
            help="Hosts on one IP address take turns, in all crawls; never more than the "
            "delay above. 0: off.",
            meaning="minimum delay between two requests to one IP address, in all crawls, in "
            "seconds; never more than the delay",
        ),
    ] = 0.25
    host_requests_a_minute: Annotated[
        Count | None,
        Question(
            label="Requests per host and minute",
            help="Requests of other crawls count. Empty: no limit.",
            meaning="maximum requests per host in a minute of UTC; those of other crawls count",
        ),
    ] = None
    host_requests_a_day: Annotated[
        Count | None,
        Question(
            label="Requests per host and day",
            help="In UTC; requests of other crawls count. Empty: no limit.",
            meaning="maximum requests per host in a day of UTC; those of other crawls count",
        ),
    ] = None
    host_patience_seconds: Annotated[
        float,
        Field(ge=0, le=MOST_PATIENCE_SECONDS, allow_inf_nan=False),
        NUMBER,
        Question(
            label="Seconds until an unreachable host is given up",
            help="Its URLs wait this long, at most an hour if it has never answered; then "
            "they fail. A day is 86400.",
            meaning="seconds until an unreachable host is given up and its URLs fail; at most "
            "an hour if it has never answered",
        ),
    ] = 86400.0
    max_kib_a_second: Annotated[
        Count | None,
        Question(
            label="Bandwidth limit, in KiB/s",
            help="All workers of the crawl together, within the bandwidth granted to them.",
            meaning="bandwidth limit of the crawl in KiB/s, within the bandwidth granted to "
            "its workers",
        ),
    ] = None
