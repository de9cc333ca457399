"""When a run pauses or ends by itself, when listeners are alerted, and a sentence if it is time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from crawling.orders.fields import MEGABYTES, MIB, NUMBER, Bytes, Question

#: of fewer URLs a share says nothing
LEAST_ENDED = 20
DAY_MINUTES = 24 * 60

Percent = Annotated[int, Field(ge=1, le=99), NUMBER]
Minutes = Annotated[int, Field(ge=1, le=DAY_MINUTES), NUMBER]


class ThresholdsPart(BaseModel):
    """`None` as a threshold means none."""

    max_error_percent: Annotated[
        Percent | None,
        Question(
            label="Failed URLs, per cent",
            heading="Threshold of failed URLs",
            help=f"Of those of the last minutes, if they are {LEAST_ENDED} or more. Empty: any.",
            meaning="per cent of failures, of the URLs that came to an end within error_minutes, "
            f"at least {LEAST_ENDED}; more, and the run does what at_threshold says",
            above="Past a threshold the run rests or ends by itself, says why, and those who "
            "asked for it are told (see Alerts).",
        ),
    ] = None
    error_minutes: Annotated[
        Minutes,
        Question(
            label="The last minutes",
            heading="Failures counted over",
            help="So many count for the share of failed URLs.",
            meaning="the last minutes, which count for the share of failures",
        ),
    ] = 10
    min_free_bytes: Annotated[
        Bytes | None,
        Question(
            label="Free disk, megabytes",
            heading="Threshold of free disk",
            help="Less on the worker's archive disk is too little. Empty: any.",
            meaning="what the worker's archive disk must have free; less, and the run does what "
            "at_threshold says",
            unit=MEGABYTES,
        ),
    ] = None
    wait_alert_minutes: Annotated[
        Minutes | None,
        Question(
            label="Minutes of waiting",
            heading="Alert while it waits, after",
            help="After so long a wait for resources an alert is sent. 0: never.",
            meaning="of waiting for resources, after which an alert is sent",
            none="0",
        ),
    ] = 10
    at_threshold: Annotated[
        Literal["pause", "stop"],
        Question(
            label="Past either of these",
            heading="Past a threshold",
            meaning="what the run does past a threshold: pause or stop",
            choices=(
                ("pause", "pause until an operator resumes it"),
                ("stop", "stop; its pages are kept"),
            ),
            above="",
        ),
    ] = "pause"


def too_many_errors(part: ThresholdsPart, *, ended: int, failed: int) -> str:
    """Why the run is not to go on, of so many URLs that came to an end of late; empty: it may."""
    if (
        part.max_error_percent is None
        or ended < LEAST_ENDED
        or 100 * failed <= part.max_error_percent * ended
    ):
        return ""
    return (
        f"{_done(part)} by its threshold: {failed:,} of the {ended:,} URLs of the last "
        f"{part.error_minutes:,} minutes failed, "
        f"{100 * failed / ended:.0f} % where {part.max_error_percent} % may. See to the errors, "
        f"or raise the threshold; {_then(part)}."
    )


def too_little_room(part: ThresholdsPart, *, free: int, where: str) -> str:
    """Why the run is not to go on with so many bytes free; empty: it may."""
    if part.min_free_bytes is None or free >= part.min_free_bytes:
        return ""
    return (
        f"{_done(part)} by its threshold: {where} has {free // MIB:,} MiB free where "
        f"{part.min_free_bytes // MIB:,} MiB must be. "
        f"Make room there, or lower the threshold; {_then(part)}."
    )


def _done(part: ThresholdsPart) -> str:
    return "Paused" if part.at_threshold == "pause" else "Stopped"


def _then(part: ThresholdsPart) -> str:
    return "then resume the crawl" if part.at_threshold == "pause" else "then start the crawl again"
