"""What a crawl spares the hosts and the line beyond its delay."""

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
            label="Rest, in times of what the last answer took",
            help="Where that is longer than the delay above; at most 30 s. 0: the delay alone "
            "counts.",
            meaning="a host rests for so many times as long as its last answer took, where that "
            "is longer than the delay; a delay of 0 turns this off, too",
        ),
    ] = 1.0
    address_delay_seconds: Annotated[
        float,
        Field(ge=0, le=60, allow_inf_nan=False),
        NUMBER,
        Question(
            label="Seconds between requests to an address",
            help="Hosts that one server's address serves take turns, in all crawls; never more "
            "than the delay above. 0: each host by itself.",
            meaning="between the beginnings of two requests to one address, which several hosts "
            "may share, in all crawls; never more than the delay",
        ),
    ] = 0.25
    host_requests_a_minute: Annotated[
        Count | None,
        Question(
            label="Requests to a host in a minute",
            help="Those of other crawls count, too. Empty: no limit.",
            meaning="to a host in a minute of UTC; those of other crawls count, too",
        ),
    ] = None
    host_requests_a_day: Annotated[
        Count | None,
        Question(
            label="Requests to a host in a day",
            help="By UTC; those of other crawls count, too. Empty: no limit.",
            meaning="to a host in a day of UTC; those of other crawls count, too",
        ),
    ] = None
    host_patience_seconds: Annotated[
        float,
        Field(ge=0, le=MOST_PATIENCE_SECONDS, allow_inf_nan=False),
        NUMBER,
        Question(
            label="Seconds to wait for a host that cannot be reached",
            help="Its URLs wait so long, an hour at most if it has never answered; then they "
            "fail. A day is 86400.",
            meaning="how long a host that lets nothing be fetched is waited for, an hour at most "
            "where it has never answered; then the URLs that wait for it fail",
        ),
    ] = 86400.0
    max_kib_a_second: Annotated[
        Count | None,
        Question(
            label="KiB a second, at most",
            help="All of the crawl's workers together, within what is granted to them.",
            meaning="what the crawl's workers may download together, within the bandwidth that "
            "is granted to them",
        ),
    ] = None
