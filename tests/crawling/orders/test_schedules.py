"""When a schedule falls due: time zones, clocks that jump, and times that were missed."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest

from crawling.orders.schedule_words import LAST_DAY, Repeat, ScheduleWords, read_words
from crawling.orders.schedules import (
    CatchUp,
    ScheduleTiming,
    next_start,
    read_timing,
    spread_starts,
)

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
    due = next_start(
        EVERY_NIGHT.model_copy(update={"catch_up": catch_up}),
        due_at=utc("2026-02-02T01:30"),
        anchor=utc(now),
        now=utc(now),
    )

    assert (due.at, due.starts) == (utc(at), starts)
    assert utc(now) < due.next_at <= utc(now) + timedelta(days=1)


def test_the_last_time_of_the_hour_shown_twice_is_found_in_its_second_pass_too():
    due = next_start(
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


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("30 2 * * *", "Every day at 02:30"),
        ("30 2 * * 0-6", "Every day at 02:30"),
        ("0 3 * * 1", "Every week on Monday at 03:00"),
        ("0 3 * * 7", "Every week on Sunday at 03:00"),
        ("0 3 * * sat,0,1", "Every week on Monday, Saturday and Sunday at 03:00"),
        ("30 2 * * 1-5", "Every week on Monday to Friday at 02:30"),
        ("5 14 1 * *", "Every month on the 1st at 14:05"),
        ("5 14 23 * *", "Every month on the 23rd at 14:05"),
        ("5 14 12 * *", "Every month on the 12th at 14:05"),
        ("0 0 L * *", "Every month on the last day at 00:00"),
        # these say more than a day and a time; cronsim has words for them
        ("*/5 * * * *", "Every fifth minute of every hour"),
        ("0 3 * 1 *", "At 03:00 every day in January"),
        ("0 3 * * MON#1", "At 03:00 on the first Monday of the month"),
        ("0 3 1 * 1", "At 03:00 on the first day of month and on Monday"),
    ],
)
def test_a_cron_line_is_told_in_words(line, words):
    timing = ScheduleTiming(cron=line, time_zone="Europe/Berlin")

    assert timing.in_words == f"{words}, Europe/Berlin time"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"every_minutes": 90}, "Every 90 minutes"),
        ({"every_minutes": 60}, "Every hour"),
        ({"every_minutes": 1440}, "Every 24 hours"),
        (
            {"every_minutes": 1440, "fastest_minutes": 60},
            "Every 24 hours; down to every hour while pages change",
        ),
    ],
)
def test_an_interval_is_told_in_words(fields, words):
    assert ScheduleTiming(**fields).in_words == words


@pytest.mark.parametrize("weekdays", [(1,), (3, 7), (1, 2, 3, 4, 5), (6, 7)])
@pytest.mark.parametrize("at", [time(0, 0), time(2, 30), time(23, 59)])
def test_words_come_back_as_they_went_into_cron(weekdays, at):
    for words in (
        ScheduleWords(Repeat.DAY, at),
        ScheduleWords(Repeat.WEEK, at, weekdays),
        *(ScheduleWords(Repeat.MONTH, at, day=day) for day in ("1", "29", "31", LAST_DAY)),
    ):
        timing = ScheduleTiming(cron=words.cron)

        assert read_words(timing.cron) == words
        start = timing.upcoming(utc("2026-01-01T00:00"), utc("2026-01-01T00:00"), 1)[0]
        assert start.time() == at
        if words.repeat is Repeat.WEEK:
            assert start.isoweekday() in weekdays


def test_starts_of_many_crawls_divide_the_time_among_them():
    weekly = ScheduleTiming(cron="0 3 * * 1", time_zone="Europe/Berlin")
    lines = [timing.cron for timing, _ in spread_starts(weekly, 4, 60)]
    assert lines == ["0 3 * * 1", "15 3 * * 1", "30 3 * * 1", "45 3 * * 1"]

    delays = [delay for _, delay in spread_starts(ScheduleTiming(every_minutes=60), 3, 30)]
    assert delays == [timedelta(minutes=minutes) for minutes in (0, 10, 20)]

    # of one time nothing is asked
    odd = ScheduleTiming(cron="*/7 * * * *")
    assert [timing for timing, _ in spread_starts(odd, 2, 0)] == [odd, odd]


@pytest.mark.parametrize(
    ("cron", "sentence"),
    [("30 23 * * *", "go past midnight"), ("*/7 * * * *", "only days, weeks, months")],
)
def test_starts_that_cannot_be_spread_are_refused(cron, sentence):
    with pytest.raises(ValueError, match=sentence):
        spread_starts(ScheduleTiming(cron=cron), 20, 120)
