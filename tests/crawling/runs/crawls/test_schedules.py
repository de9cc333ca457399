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
from crawling.runs.crawls.schedules import set_schedule, start_due, start_scheduled
from crawling.runs.steering import stop
from crawling.scheduler.duties import settle_leftovers, start_due_crawls
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

    settle_leftovers()
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
    wrong = soup(operator.post(page, {"cron": "0 3 * *", "time_zone": "Mars", "is_on": "on"}))
    assert [error.get_text().partition(" ")[0] for error in wrong.select(".field .error")] == [
        "Needs",
        "Is",
    ]

    operator.post(
        page,
        {"cron": "30 2 * * *", "time_zone": "Europe/Berlin", "catch_up": "skip", "is_on": "on"},
    )
    shown = soup(operator.get(page))
    assert "At 02:30 every day by the clock of Europe/Berlin" in shown.get_text()
    assert len(shown.select("main li time")) == 5
    settings = soup(operator.get(reverse("crawling:settings", args=[crawl.pk])))
    assert settings.find("a", string="Schedule")["href"] == page

    operator.post(page, {"remove": "1"})
    assert not Schedule.objects.exists()


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
