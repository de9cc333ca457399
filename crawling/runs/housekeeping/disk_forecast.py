"""The time when a disk will be full if it continues to fill at the current rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import linear_regression

#: the shortest time of measurement that allows a forecast
LEAST_HISTORY = timedelta(days=1)
DAY_SECONDS = 86_400
#: the time beyond which a forecast is only a guess
FARTHEST = timedelta(days=3650)


@dataclass(frozen=True)
class DiskMeasurement:
    """Numbers of bytes at one moment: free on the disk, in this machine's archive files, in the
    database.
    """

    at: datetime
    free: int
    archive: int
    database: int


@dataclass(frozen=True)
class Forecast:
    """Growth in bytes a day."""

    #: the time over which the growth was measured
    span: timedelta
    archive_a_day: float
    database_a_day: float
    used_a_day: float
    #: None if the disk will not be full within ten years at this rate
    full_at: datetime | None


def forecast(history: Sequence[DiskMeasurement]) -> Forecast | None:
    """The forecast from measurements in order of time. None if they span too little time.

    The forecast extends the line that fits all measurements of the free space best, so that a
    single large or deleted run does not determine it.
    """
    if not history or history[-1].at - history[0].at < LEAST_HISTORY:
        return None
    last = history[-1]
    used = -_growth_per_day(history, [one.free for one in history])
    left = (
        timedelta(days=last.free / used) if used > 0 and last.free / used < FARTHEST.days else None
    )
    return Forecast(
        span=last.at - history[0].at,
        archive_a_day=_growth_per_day(history, [one.archive for one in history]),
        database_a_day=_growth_per_day(history, [one.database for one in history]),
        used_a_day=used,
        full_at=last.at + left if left is not None else None,
    )


def _growth_per_day(history: Sequence[DiskMeasurement], values: Sequence[int]) -> float:
    begin = history[0].at
    return linear_regression(
        [(one.at - begin).total_seconds() / DAY_SECONDS for one in history], values
    ).slope
