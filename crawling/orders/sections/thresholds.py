"""The thresholds at which a run pauses or ends automatically, or listeners are alerted, with the
sentences about them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from crawling.orders.fields import MEGABYTES, MIB, NUMBER, Bytes, Question

#: the least number of URLs from which a share is meaningful
LEAST_ENDED = 20
DAY_MINUTES = 24 * 60

Percent = Annotated[int, Field(ge=1, le=99), NUMBER]
Minutes = Annotated[int, Field(ge=1, le=DAY_MINUTES), NUMBER]


class ThresholdsPart(BaseModel):
    """`None` means no threshold."""

    max_error_percent: Annotated[
        Percent | None,
        Question(
            label="Failed URLs, in percent",
            heading="Threshold of failed URLs",
            help=f"Of at least {LEAST_ENDED} URLs in the period. Empty: no threshold.",
            meaning="highest percentage of failed URLs within error_minutes, of at least "
            f"{LEAST_ENDED} URLs; above that the run does what at_threshold says",
            above="At a threshold the run pauses or stops with the reason, and alerts are sent "
            "(see Alerts).",
        ),
    ] = None
    error_minutes: Annotated[
        Minutes,
        Question(
            label="Over the last minutes",
            heading="Failures counted over",
            help="The period of the percentage of failed URLs.",
            meaning="period in minutes of max_error_percent",
        ),
    ] = 10
    min_free_bytes: Annotated[
        Bytes | None,
        Question(
            label="Free disk, in megabytes",
            heading="Threshold of free disk",
            help="On the worker's archive disk. Empty: no threshold.",
            meaning="minimum free bytes on the worker's archive disk; below that the run does "
            "what at_threshold says",
            unit=MEGABYTES,
        ),
    ] = None
    wait_alert_minutes: Annotated[
        Minutes | None,
        Question(
            label="Minutes of waiting",
            heading="Alert after waiting",
            help="An alert is sent after this time of waiting for resources. 0: never.",
            meaning="minutes of waiting for resources until an alert is sent; 0: never",
            none="0",
        ),
    ] = 10
    at_threshold: Annotated[
        Literal["pause", "stop"],
        Question(
            label="At a threshold",
            heading="At a threshold",
            meaning="what the run does at a threshold: pause or stop",
            choices=(
                ("pause", "pause until an operator resumes it"),
                ("stop", "stop; its pages are kept"),
            ),
            above="",
        ),
    ] = "pause"


def error_threshold_sentence(part: ThresholdsPart, *, ended: int, failed: int) -> str:
    """The reason why the run must not continue, by its recently ended URLs; empty if it may."""
    if (
        part.max_error_percent is None
        or ended < LEAST_ENDED
        or 100 * failed <= part.max_error_percent * ended
    ):
        return ""
    return (
        f"{_effect_in_words(part)} by its threshold: {failed:,} of the {ended:,} URLs of the last "
        f"{part.error_minutes:,} minutes failed, "
        f"{100 * failed / ended:.0f} %; the threshold is {part.max_error_percent} %. Check "
        f"the errors, or raise the threshold; {_remedy(part)}."
    )


def disk_threshold_sentence(part: ThresholdsPart, *, free: int, where: str) -> str:
    """The reason why the run must not continue with this many free bytes; empty if it may."""
    if part.min_free_bytes is None or free >= part.min_free_bytes:
        return ""
    return (
        f"{_effect_in_words(part)} by its threshold: {where} has {free // MIB:,} MiB free, the "
        f"threshold is {part.min_free_bytes // MIB:,} MiB. "
        f"Free disk space, or lower the threshold; {_remedy(part)}."
    )


def _effect_in_words(part: ThresholdsPart) -> str:
    return "Paused" if part.at_threshold == "pause" else "Stopped"


def _remedy(part: ThresholdsPart) -> str:
    return "then resume the crawl" if part.at_threshold == "pause" else "then start the crawl again"
