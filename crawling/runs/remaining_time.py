"""An estimate of a run's remaining time: a range, for the known URLs only."""

from __future__ import annotations

UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def remaining(
    *, known: int, fetched: int, most: int | None, rates: tuple[float | None, ...]
) -> str:
    """Say in a sentence how long what is left takes at the slowest and at the fastest of some
    rates, in pages a second; empty if nothing is left or nothing moves.

    known: URLs that wait or are in hand. most: the limit on pages; if that is nearer than the end
    of what is known, it counts.
    """
    moving = [rate for rate in rates if rate]
    to_limit = max(0, most - fetched) if most is not None else None
    left = known if to_limit is None else min(known, to_limit)
    if not moving or not left:
        return ""
    shortest, longest = duration(left / max(moving)), duration(left / min(moving))
    span = shortest if shortest == longest else f"{shortest} to {longest}"
    what = (
        "to the limit on pages"
        if to_limit is not None and to_limit <= known
        else "for the URLs found so far"
    )
    return f"About {span} {what}."


def duration(seconds: float) -> str:
    """In the largest unit that gives at least one and a half, rounded: `90 seconds`, `2 minutes`,
    `36 hours`.
    """
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= 1.5 * size), UNITS[-1])
    count = max(1, round(seconds / size))
    return f"{count:,} {unit}{'s' if count > 1 else ''}"
