"""Figure 3: waiting time against time, each policy a line, laid out for an SVG. Pure: numbers in,
places out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

WIDTH, HEIGHT = 860.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 12.0, 12.0, 40.0
#: about as many marks as an axis has
MARKS = 6
#: height of a line of times of day
ROW = 16.0
STEPS = (1, 2, 5, 10, 20)  # the last one for rounding errors


@dataclass(frozen=True)
class AxisMark:
    """A number on an axis, and where."""

    at: float
    label: str


@dataclass(frozen=True)
class FigureDot:
    """One request: where it stands, and whether it was over the bound."""

    x: float
    y: float
    is_over: bool


@dataclass(frozen=True)
class PolicyLine:
    """One policy."""

    name: str
    #: from 0; the style of the line
    index: int
    dots: tuple[FigureDot, ...]
    #: its time of day at each mark of the axis, as policies run one after the other; and where
    times: tuple[AxisMark, ...] = ()
    times_at: float = 0.0

    @property
    def points(self) -> str:
        return " ".join(f"{dot.x:.1f},{dot.y:.1f}" for dot in self.dots)

    @property
    def small_dots(self) -> str:
        """The requests within the bound, as the path of an SVG whose lines have round ends: of
        thousands an element each takes longer to write and to read.
        """
        return _dots(dot for dot in self.dots if not dot.is_over)

    @property
    def large_dots(self) -> str:
        """The requests over the bound, likewise."""
        return _dots(dot for dot in self.dots if dot.is_over)


@dataclass(frozen=True)
class WaitingFigure:
    lines: tuple[PolicyLine, ...]
    across: tuple[AxisMark, ...]
    up: tuple[AxisMark, ...]
    bound_at: float
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    foot: float = HEIGHT - BOTTOM


def draw(
    series: Mapping[str, Sequence[tuple[float, float, bool]]],
    *,
    bound_seconds: float,
    starts: Mapping[str, datetime] | None = None,
) -> WaitingFigure:
    """Lay out, for each policy by name, its (seconds since its start, seconds waited, over the
    bound) in order of time.

    starts: when each policy began, for the time of day beneath the axis.
    """
    longest = max((at for points in series.values() for at, _, _ in points), default=0.0) or 1.0
    highest = (
        max(bound_seconds, *(waited for points in series.values() for _, waited, _ in points), 0.0)
        * 1.05
    )

    def x(seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / longest

    def y(seconds: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * seconds / highest

    marks = _round_numbers(longest)

    def times(name: str) -> tuple[AxisMark, ...]:
        began = (starts or {}).get(name)
        if began is None:
            return ()
        moments = ((at, began + timedelta(seconds=at)) for at in marks)
        return tuple(AxisMark(x(at), f"{moment:%H:%M:%S}") for at, moment in moments)

    lines = tuple(
        PolicyLine(
            name,
            index,
            tuple(FigureDot(x(at), y(waited), over) for at, waited, over in sorted(points)),
            times(name),
            HEIGHT + ROW * index,
        )
        for index, (name, points) in enumerate(series.items())
    )
    across = tuple(AxisMark(x(at), f"{at:g}") for at in marks)
    up = tuple(AxisMark(y(at), f"{at:g}") for at in _round_numbers(highest))
    height = HEIGHT + ROW * len(lines) * bool(starts)
    return WaitingFigure(lines, across, up, y(bound_seconds), height=height)


def _dots(dots: Iterable[FigureDot]) -> str:
    return "".join(f"M{dot.x:.1f} {dot.y:.1f}h0" for dot in dots)


def _round_numbers(most: float) -> list[float]:
    """Round numbers from 0 up to at most `most`, evenly spread."""
    size = 10.0 ** math.floor(math.log10(most / MARKS))
    step = next(size * one for one in STEPS if most <= MARKS * size * one)
    return [round(step * i, 9) for i in range(int(most / step) + 1)]
