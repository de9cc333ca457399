"""The chart of the last hour: how names were come by, a bar a minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dnscache.records import DnsMinute

WIDTH, HEIGHT = 600, 60
KINDS = ("memory", "database", "lookup")


@dataclass(frozen=True)
class BarSegment:
    """A part of a bar, in the chart's units."""

    kind: str
    x: float
    y: float
    height: float


@dataclass(frozen=True)
class Bars:
    """`most` is the height of the chart in names a minute."""

    parts: list[BarSegment]
    most: int
    width: int = WIDTH
    height: int = HEIGHT


def bars_of(minutes: Sequence[DnsMinute]) -> Bars:
    """Return the bars, the last minute on the right; a minute without names has none."""
    most = max((sum(getattr(minute, kind) for kind in KINDS) for minute in minutes), default=0)
    parts = []
    for minute in minutes:
        ago = int((minutes[-1].minute - minute.minute).total_seconds() // 60)
        top = float(HEIGHT)
        for kind in KINDS:
            height = HEIGHT * getattr(minute, kind) / most if most else 0.0
            top -= height
            parts.append(
                BarSegment(kind, WIDTH - 10.0 * (ago + 1), round(top, 2), round(height, 2))
            )
    return Bars([part for part in parts if part.height and part.x >= 0], most)
