"""Whether a run has reached one of its thresholds, in a sentence."""

from __future__ import annotations

from crawling.orders.sections.thresholds import LEAST_ENDED, ThresholdsPart

MIB = 1024 * 1024


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
