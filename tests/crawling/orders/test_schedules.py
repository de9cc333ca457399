"""When a schedule falls due: time zones, clocks that jump, and times that were missed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from crawling.orders.schedules import CatchUp, ScheduleTiming, read_timing, settle

EVERY_NIGHT = ScheduleTiming(cron="30 2 * * *", time_zone="Europe/Berlin")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def times(timing: ScheduleTiming, now: str, count: int = 3) -> list[str]:
    anchor = utc("2026-01-01T00:00")
    return [
        f"{time.astimezone(UTC):%m-%d %H:%M}" for time in timing.upcoming(utc(now), anchor, count)
    ]


def test_a_nightly_time_keeps_to_the_clock_on_the_wall():
    assert times(EVERY_NIGHT, "2026-02-01T12:00", 1) == ["02-02 01:30"]
    assert times(EVERY_NIGHT, "2026-07-01T12:00", 1) == ["07-02 00:30"]


def test_a_time_that_the_clock_jumps_over_comes_right_after_the_jump():
    assert times(EVERY_NIGHT, "2026-03-28T12:00", 2) == ["03-29 01:00", "03-30 00:30"]


def test_a_time_that_the_clock_shows_twice_comes_once():
    assert times(EVERY_NIGHT, "2026-10-24T12:00", 2) == ["10-25 00:30", "10-26 01:30"]
    # asked while the clock shows 2:10 for the second time
    assert times(EVERY_NIGHT, "2026-10-25T01:10", 1) == ["10-26 01:30"]


def test_every_hour_goes_by_time_that_passes():
    hourly = ScheduleTiming(cron="0 * * * *", time_zone="Europe/Berlin")

    assert times(hourly, "2026-10-24T23:30", 4) == [
        "10-25 00:00",
        "10-25 01:00",
        "10-25 02:00",
        "10-25 03:00",
    ]


def test_an_interval_is_counted_from_its_beginning_not_from_the_last_start():
    assert times(ScheduleTiming(every_minutes=90), "2026-01-01T03:10") == [
        "01-01 04:30",
        "01-01 06:00",
        "01-01 07:30",
    ]


@pytest.mark.parametrize(
    ("now", "catch_up", "at", "starts"),
    [
        ("2026-02-02T01:30", CatchUp.SKIP, "2026-02-02T01:30", True),  # on the dot
        ("2026-02-02T01:34", CatchUp.SKIP, "2026-02-02T01:30", True),
        ("2026-02-02T02:00", CatchUp.SKIP, "2026-02-02T01:30", False),
        ("2026-02-02T02:00", CatchUp.ONCE, "2026-02-02T01:30", True),
        # eleven were missed, one is made up for
        ("2026-02-12T02:00", CatchUp.ONCE, "2026-02-12T01:30", True),
        # ten were missed, this one is in time
        ("2026-02-12T01:31", CatchUp.SKIP, "2026-02-12T01:30", True),
    ],
)
def test_of_the_times_that_have_come_the_last_may_start_a_run(now, catch_up, at, starts):
    due = settle(
        EVERY_NIGHT.model_copy(update={"catch_up": catch_up}),
        due_at=utc("2026-02-02T01:30"),
        anchor=utc(now),
        now=utc(now),
    )

    assert (due.at, due.starts) == (utc(at), starts)
    assert utc(now) < due.next_at <= utc(now) + timedelta(days=1)


def test_the_last_time_of_the_hour_shown_twice_is_found_in_its_second_pass_too():
    due = settle(
        EVERY_NIGHT,
        due_at=utc("2026-10-25T00:30"),
        anchor=utc("2026-10-25T00:30"),
        now=utc("2026-10-25T01:10"),
    )

    assert due == (utc("2026-10-25T00:30"), True, utc("2026-10-26T01:30"))


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({}, "cron", "either a cron line or an interval"),
        ({"cron": "0 3 * * *", "every_minutes": 60}, "cron", "either a cron line or an interval"),
        ({"cron": "0 3 * *"}, "cron", "needs five fields"),
        ({"cron": "0 0 3 * * *"}, "cron", "needs five fields"),  # no seconds
        ({"cron": "61 3 * * *"}, "cron", "Bad minute"),
        ({"cron": "0 0 30 2 *"}, "cron", "Bad day-of-month"),
        ({"every_minutes": 1}, "every_minutes", "must be 5 or more"),
        ({"every_minutes": 60, "time_zone": "Mars/Olympus"}, "time_zone", "is not known"),
        ({"every_minutes": 60, "catch_up": "thrice"}, "catch_up", "must be 'once' or 'skip'"),
        ({"every_minutes": 60, "often": True}, "often", "not a field of a schedule"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_said_at_its_field(fields, field, sentence):
    timing, errors = read_timing(fields)

    assert timing is None
    assert sentence in errors[field]


def test_a_schedule_is_told_in_words():
    assert EVERY_NIGHT.in_words == "At 02:30 every day by the clock of Europe/Berlin"
    assert ScheduleTiming(every_minutes=90).in_words == "Every 90 minutes"
