"""Figure 3: waiting time against time, one line for each policy, laid out for an SVG. Pure: it
turns numbers into coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

WIDTH, HEIGHT = 860.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 12.0, 12.0, 40.0
#: the height of the line with times of day
TIMES = 16.0
#: the approximate number of marks on an axis
MARKS = 6
STEPS = (1, 2, 5, 10, 20)  # the last one is for rounding errors

#: a request: the seconds until it began, the seconds it waited, whether that was over the bound
Point = tuple[float, float, bool]


@dataclass(frozen=True)
class AxisMark:
    at: float
    label: str


@dataclass(frozen=True)
class FigureDot:
    """One request: its coordinates, and whether it was over the bound."""

    x: float
    y: float
    is_over: bool


@dataclass(frozen=True)
class PolicyLine:
    name: str
    #: its index among the policies, from 0, which sets the style of the line
    index: int
    #: the dots of each round in which the policy had its turn
    rounds: tuple[tuple[FigureDot, ...], ...]

    @property
    def dots(self) -> Iterator[FigureDot]:
        return chain.from_iterable(self.rounds)

    @property
    def path(self) -> str:
        """A line through the dots of each round."""
        return "".join(
            f"M{' '.join(f'{dot.x:.1f},{dot.y:.1f}' for dot in dots)}" for dots in self.rounds
        )

    @property
    def small_dots(self) -> str:
        """The requests within the bound, as one SVG path of dots: an element for each of thousands
        of requests would be slow.
        """
        return _path_of_dots(dot for dot in self.dots if not dot.is_over)

    @property
    def large_dots(self) -> str:
        """The requests over the bound, likewise."""
        return _path_of_dots(dot for dot in self.dots if dot.is_over)


@dataclass(frozen=True)
class WaitingFigure:
    lines: tuple[PolicyLine, ...]
    across: tuple[AxisMark, ...]
    #: the time of day at each mark of the axis
    times: tuple[AxisMark, ...]
    up: tuple[AxisMark, ...]
    bound_at: float
    width: float = WIDTH
    height: float = HEIGHT + TIMES
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    foot: float = HEIGHT - BOTTOM
    times_at: float = HEIGHT


def waiting_figure(
    series: Mapping[str, Sequence[Sequence[Point]]], *, bound_seconds: float, began: datetime
) -> WaitingFigure:
    """Lay out, for each policy by name, the points of each of its rounds.

    began: the moment from which seconds are counted.
    """
    points = [point for rounds in series.values() for one in rounds for point in one]
    longest = max((at for at, _, _ in points), default=0.0) or 1.0
    highest = max(bound_seconds, *(waited for _, waited, _ in points), 0.0) * 1.05

    def x_of_seconds(seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / longest

    def y_of_seconds(seconds: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * seconds / highest

    def dots_of_round(one: Sequence[Point]) -> tuple[FigureDot, ...]:
        return tuple(
            FigureDot(x_of_seconds(at), y_of_seconds(waited), over)
            for at, waited, over in sorted(one)
        )

    lines = tuple(
        PolicyLine(name, index, tuple(map(dots_of_round, rounds)))
        for index, (name, rounds) in enumerate(series.items())
    )
    marks = [
        (x_of_seconds(at), at, began + timedelta(seconds=at)) for at in _round_numbers(longest)
    ]
    across = tuple(AxisMark(place, f"{at:g}") for place, at, _ in marks)
    times = tuple(AxisMark(place, f"{moment:%H:%M:%S}") for place, _, moment in marks)
    up = tuple(AxisMark(y_of_seconds(at), f"{at:g}") for at in _round_numbers(highest))
    return WaitingFigure(lines, across, times, up, y_of_seconds(bound_seconds))


def _path_of_dots(dots: Iterable[FigureDot]) -> str:
    return "".join(f"M{dot.x:.1f} {dot.y:.1f}h0" for dot in dots)


def _round_numbers(most: float) -> list[float]:
    """Round numbers from 0 up to at most `most`, evenly spaced."""
    size = 10.0 ** math.floor(math.log10(most / MARKS))
    step = next(size * one for one in STEPS if most <= MARKS * size * one)
    return [round(step * i, 9) for i in range(int(most / step) + 1)]
