"""Schedules in words (every day, week or month at a time of the day), and their conversion from and
to cron lines.

For other cron lines `cronsim` has the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from itertools import groupby

from cronsim import CronSim

from allocation.wording import joined_in_words

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
#: cron's sign for the last day of a month
LAST_DAY = "L"
#: cronsim's number for it
_LAST = -1000
#: the time at which a line is parsed; it has no influence on the result
_ANY_TIME = datetime(2024, 1, 1, tzinfo=UTC)


class Repeat(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class ScheduleWords:
    """A schedule that can be expressed in words."""

    repeat: Repeat
    at: time
    #: days of the week in order; 1 is Monday, 7 is Sunday
    weekdays: tuple[int, ...] = ()
    #: day of the month: 1 to 31, or LAST_DAY
    day: str = ""

    @property
    def cron(self) -> str:
        day = self.day if self.repeat is Repeat.MONTH else "*"
        # for cron, Sunday is 0
        named = ",".join(str(number % 7) for number in self.weekdays)
        weekdays = named if self.repeat is Repeat.WEEK else "*"
        return f"{self.at.minute} {self.at.hour} {day} * {weekdays}"

    @property
    def in_words(self) -> str:
        return f"Every {self.repeat}{self._days_in_words} at {self.at:%H:%M}"

    @property
    def _days_in_words(self) -> str:
        if self.repeat is Repeat.WEEK:
            return f" on {joined_in_words(_weekday_spans(self.weekdays))}"
        if self.repeat is Repeat.MONTH:
            return (
                f" on the {'last day' if self.day == LAST_DAY else ordinal_number(int(self.day))}"
            )
        return ""

    def later(self, minutes: int) -> ScheduleWords | None:
        """The schedule moved by `minutes` on the same days. None if that would pass midnight."""
        moved = datetime.combine(_ANY_TIME.date(), self.at) + timedelta(minutes=minutes)
        if moved.date() != _ANY_TIME.date():
            return None
        return ScheduleWords(self.repeat, moved.time(), self.weekdays, self.day)


def read_words(line: str) -> ScheduleWords | None:
    """A valid cron line in words; None if these words cannot express it."""
    read = CronSim(line, _ANY_TIME)
    minutes, hours, days, weekdays = read.minutes, read.hours, read.days, read.weekdays
    if len(minutes) != 1 or len(hours) != 1 or len(read.months) != 12:
        return None
    at = time(min(hours), min(minutes))
    is_any_day = len(days) == 31
    named = {day or 7 for day in weekdays if isinstance(day, int)}
    if is_any_day and len(named) == 7:
        return ScheduleWords(Repeat.DAY, at)
    if is_any_day and not any(isinstance(day, tuple) for day in weekdays):
        return ScheduleWords(Repeat.WEEK, at, tuple(sorted(named)))
    if len(named) == 7 and len(days) == 1:
        (day,) = days
        return ScheduleWords(Repeat.MONTH, at, day=LAST_DAY if day == _LAST else str(day))
    return None


def cron_line_in_words(line: str) -> str:
    """A valid cron line as a sentence without its full stop."""
    words = read_words(line)
    return words.in_words if words else str(CronSim(line, _ANY_TIME).explain())


def interval_words(minutes: int) -> str:
    """`24 hours` and not a day, since a day may have 23 or 25 hours."""
    if minutes % 60:
        return f"{minutes:,} minutes"
    hours = minutes // 60
    return "hour" if hours == 1 else f"{hours:,} hours"


def ordinal_number(number: int) -> str:
    """`1st`, `22nd`, `13th`."""
    is_teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _weekday_spans(weekdays: Sequence[int]) -> list[str]:
    """The days by name. Three or more consecutive days are written as a span."""
    names: list[str] = []
    for _, group in groupby(enumerate(weekdays), key=lambda pair: pair[1] - pair[0]):
        run = [WEEKDAYS[number - 1] for _, number in group]
        names += run if len(run) < 3 else [f"{run[0]} to {run[-1]}"]
    return names
