"""Crawls that start by themselves: each time once, and the list says what became of it."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from django.db import OperationalError, connection
from django.urls import reverse
from django.utils import timezone

from allocation.models import Process
from crawling.models import Run, Schedule, ScheduledStart
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.schedules import (
    set_schedule,
    set_schedules,
    start_due,
    start_scheduled,
)
from crawling.runs.steering import stop
from crawling.scheduler.duties import settle_interrupted_runs, start_due_crawls
from tests.crawling.pages import browser, soup
from tests.races.conftest import rival, row_held

__all__ = ["rival"]

SEED = "http://127.0.0.1:8900/"


@pytest.fixture
def crawl(order):
    return create_crawl(order(SEED))


def fall_due(crawl, *, late=timedelta(0), **fields) -> Schedule:
    """Give the crawl a schedule whose next time came that long ago."""
    schedule = set_schedule(crawl, {"every_minutes": 60, **fields})
    due_at = timezone.now() - late
    Schedule.objects.update(next_at=due_at, anchor_at=due_at)
    return schedule


def test_what_falls_due_starts_once_and_stands_in_the_list(crawl):
    fall_due(crawl)

    start_scheduled()
    start_scheduled()

    run = Run.objects.get()
    assert Process.objects.get(run_process__run=run).holding
    assert run.log.filter(message="Run 1 started by its schedule.").exists()
    assert [(start.run, start.outcome) for start in ScheduledStart.objects.all()] == [
        (run, "Started run 1.")
    ]
    assert timezone.now() < Schedule.objects.get().next_at <= timezone.now() + timedelta(hours=1)


def test_while_a_run_lasts_no_other_is_started(crawl):
    fall_due(crawl)
    start_scheduled()
    Schedule.objects.update(next_at=timezone.now())

    start_scheduled()

    assert Run.objects.count() == 1
    assert ScheduledStart.objects.first().outcome == "Skipped: run 1 was queued."


@pytest.mark.parametrize(
    ("catch_up", "runs", "outcome"),
    [("once", 1, "Started run 1, 30 minutes late."), ("skip", 0, "Missed by 30 minutes")],
)
def test_missed_times_are_made_up_for_once_or_skipped(crawl, catch_up, runs, outcome):
    fall_due(crawl, late=timedelta(hours=5, minutes=30), catch_up=catch_up)

    start_scheduled()

    assert Run.objects.count() == runs
    assert ScheduledStart.objects.get().outcome.startswith(outcome)


def test_a_start_that_a_crash_cut_off_reaches_the_bank(crawl):
    schedule = fall_due(crawl)
    start_due(schedule.pk, timezone.now())
    assert not Process.objects.exists()

    settle_interrupted_runs()
    start_due_crawls()

    assert Process.objects.get().holding


def test_two_who_keep_settle_a_time_one_after_the_other(crawl, rival: psycopg.Connection):
    schedule = fall_due(crawl)

    with row_held(rival, "crawling_crawljob", crawl.pk), connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
        with pytest.raises(OperationalError):
            start_due(schedule.pk, timezone.now())
        cursor.execute("RESET lock_timeout")
    assert not Run.objects.exists()


def test_a_schedule_that_is_no_longer_right_is_switched_off_and_says_so(crawl):
    fall_due(crawl)
    Schedule.objects.update(timing={"every_minutes": 60, "time_zone": "Gone/Zone"})

    start_scheduled()

    assert ScheduledStart.objects.get().outcome.startswith("Disabled: time_zone is not known")
    assert (Schedule.objects.get().next_at, Run.objects.count()) == (None, 0)


def test_an_operator_sets_looks_at_and_removes_a_schedule_in_the_browser(crawl):
    operator, page = browser("operator"), reverse("crawling:schedule", args=[crawl.pk])
    wrong = {"repeat": "cron", "cron": "0 3 * *", "time_zone": "Mars", "is_on": "on"}
    told = soup(operator.post(page, wrong)).select(".field .error")
    assert {error.get_text().partition(" ")[0] for error in told} == {"Needs", "Is"}

    weekly = {"repeat": "week", "weekdays": ["1", "4"], "at": "02:30", "is_on": "on"}
    operator.post(page, {**weekly, "time_zone": "Europe/Berlin", "catch_up": "skip"})
    assert Schedule.objects.get().timing["cron"] == "30 2 * * 1,4"
    shown = soup(operator.get(page))
    assert "Every week on Monday and Thursday at 02:30, Europe/Berlin time" in shown.get_text()
    assert [len(row.select("time")) for row in shown.select("main > .dates tbody tr")] == [2] * 5
    assert [box["value"] for box in shown.select("[name=weekdays][checked]")] == ["1", "4"]
    settings = soup(operator.get(reverse("crawling:settings", args=[crawl.pk])))
    assert settings.select_one('[aria-label="Edit the schedule"]')["href"] == page

    operator.post(page, {"repeat": "", "is_on": "on"})
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    ("answers", "cron"),
    [
        ({"repeat": "day", "at": "03:00"}, "0 3 * * *"),
        ({"repeat": "month", "at": "23:59", "day": "31"}, "59 23 31 * *"),
        ({"repeat": "month", "at": "04:05", "day": "L"}, "5 4 L * *"),
        ({"repeat": "cron", "cron": "*/10 * * * *"}, "*/10 * * * *"),
    ],
)
def test_a_schedule_in_words_is_a_cron_line_and_comes_back_as_it_was_chosen(crawl, answers, cron):
    operator, page = browser("operator"), reverse("crawling:schedule", args=[crawl.pk])

    operator.post(page, {**answers, "time_zone": "UTC", "is_on": "on"})

    assert Schedule.objects.get().timing["cron"] == cron
    form = soup(operator.get(page)).select_one("form.order")
    assert form.select_one("[name=repeat][checked]")["value"] == answers["repeat"]
    for name in answers.keys() & {"at", "cron"}:
        assert form.select_one(f"[name={name}]")["value"] == answers[name]
    if "day" in answers:
        assert form.select_one("[name=day] [selected]")["value"] == answers["day"]


@pytest.mark.parametrize(
    ("answers", "field", "sentence"),
    [
        ({"repeat": "week", "at": "03:00"}, "weekdays", "Choose one day or more."),
        ({"repeat": "day", "at": ""}, "at", "Choose a time of the day."),
        ({"repeat": "day", "at": "25:00"}, "at", "Must be a time of the day, like 03:00."),
        ({"repeat": "interval", "every_minutes": "1"}, "every_minutes", "Must be 5 or more"),
    ],
)
def test_a_schedule_in_words_that_lacks_something_says_what(crawl, answers, field, sentence):
    page = reverse("crawling:schedule", args=[crawl.pk])

    told = soup(browser("operator").post(page, {**answers, "is_on": "on"}))

    assert told.select_one(f"#id_{field}_error").get_text() == sentence
    assert not Schedule.objects.exists()


def test_the_next_three_dates_are_told_before_a_schedule_is_saved(crawl):
    operator, page = browser("operator"), reverse("crawling:schedule", args=[crawl.pk])
    answers = {"repeat": "month", "at": "03:00", "day": "1", "time_zone": "Asia/Tokyo"}

    typed = soup(operator.get(reverse("crawling:schedule-dates"), answers))
    checked = soup(operator.post(page, {**answers, "is_on": "on", "check": "1"}))

    for told in (typed, checked.select_one(".next-starts")):
        assert told.find("strong").get_text() == "Every month on the 1st at 03:00."
        heads = [head.get_text() for head in told.select("th")]
        assert heads == ["Next starts, Asia/Tokyo", "UTC"]
        rows = [row.select("td time") for row in told.select("tbody tr")]
        clocks = [[time.get_text().rpartition(" ")[2] for time in row] for row in rows]
        assert clocks == [["03:00", "18:00"]] * 3
    assert not Schedule.objects.exists()


def test_starts_that_are_spread_are_told_from_the_first_to_the_last(order):
    made = [create_crawl(order(f"http://127.0.0.1:8900/{n}", name=f"crawl {n}")) for n in "ab"]
    operator, page = browser("operator"), reverse("crawling:schedule-many")
    answers = {"repeat": "week", "weekdays": "1", "at": "03:00", "time_zone": "UTC", "is_on": "on"}

    def told(over):
        shown = soup(operator.get(reverse("crawling:schedule-dates"), {**answers, **over}))
        return shown.p.get_text(), [cell.get_text().split(" ", 2)[2] for cell in shown.select("td")]

    words, cells = told({"over_minutes": "60"})
    assert cells == ["03:00 to 04:00"] * 3
    assert "all others within 60 minutes of it" in words
    assert told({"over_minutes": "0"})[1] == told({})[1] == ["03:00"] * 3
    # as the form comes, too: it begins with an hour
    first = soup(operator.get(page, {"crawl": [crawl.pk for crawl in made]}))
    assert first.select_one(".next-starts td").get_text().endswith("03:00 to 04:00")


def test_schedules_of_many_crawls_are_set_changed_and_removed_at_once(order):
    made = [create_crawl(order(f"http://127.0.0.1:8900/{n}", name=f"crawl {n}")) for n in "abcd"]
    operator, page = browser("operator"), reverse("crawling:schedule-many")
    ids = [crawl.pk for crawl in made]
    asked = soup(operator.get(page, {"crawl": ids[:2]}))
    assert [box["value"] for box in asked.select("[name=crawl][checked]")] == [
        str(pk) for pk in sorted(ids[:2], reverse=True)
    ]
    # a button beside a list posts the same names
    assert len(soup(operator.post(page, {"crawl": ids})).select("[name=crawl][checked]")) == 4

    weekly = {"repeat": "week", "weekdays": "1", "at": "03:00", "time_zone": "UTC", "is_on": "on"}
    answer = operator.post(page, {**weekly, "crawl": ids, "over_minutes": "60", "save": "1"})
    assert answer["Location"] == reverse("crawling:schedules")
    lines = {schedule.timing["cron"] for schedule in Schedule.objects.all()}
    assert lines == {"0 3 * * 1", "15 3 * * 1", "30 3 * * 1", "45 3 * * 1"}

    late = {**weekly, "at": "23:30", "crawl": ids, "over_minutes": "60", "save": "1"}
    assert "past midnight" in soup(operator.post(page, late)).select_one(".error").get_text()
    assert {schedule.timing["cron"] for schedule in Schedule.objects.all()} == lines

    operator.post(page, {"repeat": "", "crawl": ids[:3], "is_on": "on", "save": "1"})
    assert [schedule.crawl for schedule in Schedule.objects.all()] == [made[3]]


def test_all_crawls_without_a_schedule_get_one_from_the_page_of_schedules(order):
    made = [create_crawl(order(f"http://127.0.0.1:8900/{n}", name=f"crawl {n}")) for n in "abc"]
    set_schedule(made[0], {"every_minutes": 60})
    operator = browser("operator")
    add = soup(operator.get(reverse("crawling:schedules"))).select_one("main .head a")["href"]
    offered = soup(operator.get(add))
    assert {box.parent.get_text(strip=True) for box in offered.select("[name=crawl]")} == {
        "crawl b",
        "crawl c",
    }

    none = {"repeat": "day", "at": "03:00", "is_on": "on", "save": "1"}
    assert "Choose one crawl" in soup(operator.post(add, none)).select_one(".error").get_text()
    operator.post(add, {**none, "unscheduled": "1", "over_minutes": "0"})

    lines = {schedule.crawl.name: schedule.timing["cron"] for schedule in Schedule.objects.all()}
    assert lines == {"crawl a": "", "crawl b": "0 3 * * *", "crawl c": "0 3 * * *"}


def test_first_intervals_of_many_crawls_begin_one_after_the_other(order):
    made = [create_crawl(order(f"http://127.0.0.1:8900/{n}", name=f"crawl {n}")) for n in "ab"]

    set_schedules(made, {"every_minutes": 60}, over_minutes=20)

    first, second = (Schedule.objects.get(crawl=crawl).next_at for crawl in made)
    assert timedelta(minutes=9) < second - first < timedelta(minutes=11)


def test_a_stopped_crawl_with_a_schedule_can_be_deleted(crawl):
    fall_due(crawl)
    start_scheduled()
    stop(crawl)

    assert (
        browser("operator")
        .post(reverse("crawling:delete", args=[crawl.pk]), {"name": crawl.name})
        .status_code
        == 302
    )
    assert Schedule.objects.get().next_at is None  # kept for a day, should the crawl be restored


def test_all_schedules_are_listed_the_next_start_first_and_those_that_are_off_last(crawl, order):
    fall_due(crawl)
    start_scheduled()
    crawls = [create_crawl(order(f"http://127.0.0.1:8900/{n}", name=f"crawl {n}")) for n in "abc"]
    set_schedule(crawls[0], {"every_minutes": 600})
    set_schedule(crawls[1], {"every_minutes": 60, "is_on": False})
    set_schedule(crawls[2], {"every_minutes": 6000})
    viewer = browser("viewer")
    page = soup(viewer.get(reverse("crawling:schedules")))
    rows = [row.get_text(" ", strip=True) for row in page.select("tbody tr")]
    assert [row.split("  ")[0].split(" Every")[0] for row in rows] == [
        "a crawl",
        "crawl a",
        "crawl c",
        "crawl b",
    ]
    assert "disabled" in rows[-1]
    first = viewer.get("/api/v1/schedules?limit=3").json()
    last = viewer.get(f"/api/v1/schedules?limit=3&cursor={first['next']}").json()
    assert [one["name"] for one in first["items"] + last["items"]] == [
        "a crawl",
        "crawl a",
        "crawl c",
        "crawl b",
    ]
    assert (last["next"], bool(first["items"][0]["last_outcome"])) == (None, True)
