"""The times at which a crawl starts automatically, by a cron line or at an interval, in a time
zone.

A time that the clock skips counts as the moment after the jump, and a time that it shows twice
counts once. Both hold only for lines that name hours; `*` and steps follow elapsed time, as in
Debian's cron.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from itertools import dropwhile, islice
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from crawling.orders.fields import NUMBER
from crawling.orders.schedule_words import cron_line_in_words, interval_words, read_words
from crawling.orders.sentences import sentence_for

#: a start is late after this time, and the schedule's policy decides about it; shorter delays are
#: caused by changes of schedulers and by restarts
LATE_AFTER = timedelta(minutes=5)
CRON_FIELDS = 5
NO_TIME = timedelta(0)
UTC_ZONE = ZoneInfo("UTC")


class CatchUp(StrEnum):
    """The policy for starts that were missed while no scheduler ran."""

    ONCE = "once"
    SKIP = "skip"


class ScheduleTiming(BaseModel):
    """A schedule, with exactly one of `cron` and `every_minutes`."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    cron: Annotated[
        str, Field(max_length=100, description="minute, hour, day, month, weekday: `30 2 * * 1-5`")
    ] = ""
    every_minutes: (
        Annotated[int, Field(ge=5, le=525_600, description="interval instead of `cron`"), NUMBER]
        | None
    ) = None
    fastest_minutes: (
        Annotated[
            int,
            Field(
                ge=5,
                le=525_600,
                description="shortest interval: while pages change, the interval is halved after "
                "each run, down to this; while none change, it is doubled up to `every_minutes`",
            ),
            NUMBER,
        ]
        | None
    ) = None
    time_zone: Annotated[
        str, Field(max_length=64, description="time zone of `cron`, such as `Europe/Berlin`")
    ] = "UTC"
    catch_up: Annotated[
        CatchUp, Field(description="starts that were missed are made up for once, or skipped")
    ] = CatchUp.ONCE
    is_on: Annotated[bool, Field(description="false: no starts until it is enabled")] = True

    @field_validator("time_zone")
    @classmethod
    def _check_time_zone(cls, name: str) -> str:
        if name not in zones():
            raise ValueError("is not known; give a name like Europe/Berlin, or UTC")
        return name

    @field_validator("cron")
    @classmethod
    def _check_cron_line(cls, line: str) -> str:
        if line and len(line.split()) != CRON_FIELDS:
            raise ValueError(
                "needs five fields: minute, hour, day, month, weekday, like 30 2 * * 1-5"
            )
        try:
            if line:
                next(CronSim(line, datetime(2024, 1, 1, tzinfo=UTC)))
        except CronSimError as error:
            raise ValueError(
                f"{error}; the fields are minute, hour, day, month, weekday, like 30 2 * * 1-5"
            ) from error
        except StopIteration as error:
            raise ValueError("names a day that never comes") from error
        return " ".join(line.split())

    @model_validator(mode="after")
    def _check_cron_or_interval(self) -> ScheduleTiming:
        if bool(self.cron) == (self.every_minutes is not None):
            raise ValueError("give either a cron line or an interval in minutes")
        if self.fastest_minutes is not None and not (
            self.every_minutes and self.fastest_minutes <= self.every_minutes
        ):
            raise ValueError("the fastest interval goes with an interval, and is no longer than it")
        return self

    @property
    def in_words(self) -> str:
        """The schedule as a sentence without its full stop, with its time zone."""
        zone = "UTC" if self.time_zone == "UTC" else f"{self.time_zone} time"
        return f"{self.repeats}, {zone}" if self.cron else self.repeats

    @property
    def repeats(self) -> str:
        """The same as `in_words`, without the zone."""
        if self.every_minutes is None:
            return cron_line_in_words(self.cron)
        usual = f"Every {interval_words(self.every_minutes)}"
        if self.fastest_minutes is None:
            return usual
        return f"{usual}; down to every {interval_words(self.fastest_minutes)} while pages change"

    def times_after(self, now: datetime, anchor: datetime) -> Iterator[datetime]:
        """All times later than `now`, in the schedule's zone. Intervals are counted from
        `anchor`.
        """
        zone = ZoneInfo(self.time_zone)
        if self.every_minutes is None:
            # within an hour that the clock shows twice, cron's next time may belong to the first
            # pass
            return dropwhile(
                lambda time: time <= now, iter(CronSim(self.cron, now.astimezone(zone)))
            )
        return _interval_times(
            anchor
            + (_intervals_passed(anchor, now, self.every_minutes) + 1)
            * _interval_of_minutes(self.every_minutes),
            self.every_minutes,
            zone,
        )

    def upcoming(self, now: datetime, anchor: datetime, count: int) -> list[datetime]:
        return list(islice(self.times_after(now, anchor), count))

    def latest(self, due_at: datetime, now: datetime, anchor: datetime) -> datetime:
        """The last due time. `due_at` is due."""
        if self.every_minutes is not None:
            return max(
                due_at,
                anchor
                + _intervals_passed(anchor, now, self.every_minutes)
                * _interval_of_minutes(self.every_minutes),
            )
        last = next(
            CronSim(
                self.cron,
                now.astimezone(ZoneInfo(self.time_zone)) + timedelta(seconds=1),
                reverse=True,
            )
        )
        return max(due_at, last) if last <= now else due_at


class DueStart(NamedTuple):
    """The consequence of due times: the last due time, whether a run starts for it, and the next
    time.
    """

    at: datetime
    starts: bool
    next_at: datetime


#: the share of changed pages at which the interval is halved; only pages count that an earlier run
#: has, too
MUCH_CHANGED = 0.05


def next_pace_minutes(timing: ScheduleTiming, pace: int, *, compared: int, changed: int) -> int:
    """The interval in minutes after a run. compared: the number of its pages that could be compared
    with an earlier run. changed: the number of those that had changed.
    """
    slowest = timing.every_minutes or pace
    if compared and changed / compared >= MUCH_CHANGED:
        pace //= 2
    elif not changed:
        pace *= 2
    return min(slowest, max(timing.fastest_minutes or slowest, pace))


def next_start(
    timing: ScheduleTiming,
    *,
    due_at: datetime,
    anchor: datetime,
    now: datetime,
    pace: int | None = None,
) -> DueStart:
    """Settle the times that are due. pace: the interval in minutes of a schedule that follows
    changes.

    Only the last of all times from `due_at` to `now` may start a run: a crawl that was missed ten
    times is not run ten times.
    """
    if timing.fastest_minutes is not None:
        is_late = now - due_at > LATE_AFTER
        starts = not is_late or timing.catch_up == CatchUp.ONCE
        following = _interval_of_minutes(pace or timing.every_minutes or timing.fastest_minutes)
        return DueStart(due_at, starts, now + following)
    last = timing.latest(due_at, now, anchor)
    is_late = now - last > LATE_AFTER
    return DueStart(
        last, not is_late or timing.catch_up == CatchUp.ONCE, next(timing.times_after(now, anchor))
    )


def spread_starts(
    timing: ScheduleTiming, count: int, minutes: int
) -> list[tuple[ScheduleTiming, timedelta]]:
    """The schedules of several crawls whose starts are spread over some minutes, each with the
    delay of its first interval.

    Raises ValueError with a sentence if a cron line cannot be moved that far.
    """
    steps = [minutes * place // count for place in range(count)]
    if timing.every_minutes is not None:
        return [(timing, _interval_of_minutes(step)) for step in steps]
    words = read_words(timing.cron)
    if words is None and minutes:
        raise ValueError("only days, weeks, months and intervals can be spread over time")
    lines = [words.later(step) if words else None for step in steps]
    if minutes and None in lines:
        raise ValueError(
            f"{minutes:,} minutes from this time go past midnight; choose an earlier time"
        )
    return [
        (
            timing.model_copy(update={"cron": line.cron if line and minutes else timing.cron}),
            NO_TIME,
        )
        for line in lines
    ]


def read_timing(fields: Mapping[str, Any]) -> tuple[ScheduleTiming | None, dict[str, str]]:
    """Return the schedule, or None and a sentence for each field. Mistakes that concern no single
    field are at `cron`.
    """
    try:
        return ScheduleTiming.model_validate(dict(fields)), {}
    except ValidationError as error:
        errors: dict[str, str] = {}
        for mistake in error.errors():
            field = ".".join(str(part) for part in mistake["loc"]) or "cron"
            unknown = "is not a field of a schedule; these are: " + ", ".join(
                ScheduleTiming.model_fields
            )
            sentence = sentence_for(mistake["type"], mistake.get("ctx", {}), mistake["msg"])
            errors.setdefault(field, unknown if mistake["type"] == "extra_forbidden" else sentence)
        return None, errors


@cache
def zones() -> frozenset[str]:
    return frozenset(available_timezones())


def zone_named(name: str) -> ZoneInfo | None:
    """The time zone with this name. None if this machine has no time zone of that name; time zones
    are added and removed.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _interval_of_minutes(minutes: int) -> timedelta:
    return timedelta(minutes=minutes)


def _intervals_passed(anchor: datetime, now: datetime, minutes: int) -> int:
    return max(0, (now - anchor) // _interval_of_minutes(minutes))


def _interval_times(first: datetime, minutes: int, zone: ZoneInfo) -> Iterator[datetime]:
    while True:
        yield first.astimezone(zone)
        first += _interval_of_minutes(minutes)
