"""Thresholds: a run that fails too much, or whose disk is too full, rests or ends by itself, says
why, and tells who wants to know.
"""

from __future__ import annotations

import json
import shutil

import pytest
from django.urls import reverse
from django.utils import timezone

from crawling.models import OrderRevision, RunCount, RunState
from crawling.models.jobs import ENDED_STATES
from crawling.orders.order import read_order
from crawling.orders.sections.thresholds import (
    LEAST_ENDED,
    ThresholdsPart,
    disk_threshold_sentence,
    error_threshold_sentence,
)
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import enforce_thresholds, resume
from crawling.uses.alerts.models import Delivery, Listener
from tests.crawling.pages import browser, soup

MIB = 1024 * 1024


@pytest.fixture
def broken(make_site):
    """A site all of whose pages but the first are not there."""
    links = "".join(f'<a href="/{number}">x</a>' for number in range(30))
    return make_site({"/": (200, {"Content-Type": "text/html"}, links)})


def rests(run) -> bool:
    return run.state in (*ENDED_STATES, RunState.PAUSED)


def test_a_run_that_fails_too_much_pauses_says_why_and_tells_and_can_be_resumed(
    broken, order, work_off
):
    Listener.objects.create(
        name="Chat", url="https://chat.example/", secret="s", events=["trouble"]
    )
    crawl = create_crawl(order(f"{broken.url}/", max_error_percent=50, batch_size=25))
    run = work_off(start_run(crawl), until=rests)

    assert run.state == RunState.PAUSED
    assert run.reason.startswith("Paused by its threshold: ")
    assert "of the last 10 minutes failed, 9" in run.reason
    assert json.loads(Delivery.objects.get().body)["sentence"] == run.reason
    assert (
        run.reason
        in soup(browser("viewer").get(reverse("crawling:crawl", args=[crawl.pk]))).get_text()
    )

    resume(crawl)
    # the errors of before are no reason to rest again
    assert enforce_thresholds(crawl.runs.get(), timezone.now()) == ""


def test_a_disk_with_too_little_room_stops_a_run_that_is_to_stop(broken, order, work_off, settings):
    free = shutil.disk_usage(settings.ARCHIVE_DIR).free
    run = work_off(
        start_run(
            create_crawl(order(f"{broken.url}/", min_free_bytes=2 * free, at_threshold="stop"))
        )
    )

    assert run.state == RunState.STOPPED
    assert run.reason.startswith(f"Stopped by its threshold: {settings.ARCHIVE_DIR} has ")


def test_thresholds_are_edited_while_a_run_is_at_work_and_obeyed(order, db):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    run = start_run(crawl)
    now = timezone.now()
    RunCount.objects.filter(run=run).update(succeeded=50, failed=50)
    assert enforce_thresholds(run, now) == ""

    page = reverse("crawling:scope", args=[crawl.pk])
    operator = browser("operator")
    form = soup(operator.get(page)).find("form", class_="order")
    typed = {field["name"]: field.get("value", "") for field in form.select("input[name]")} | {
        "max_error_percent": "40",
        "scope": "host",
    }
    operator.post(page, typed | {"delay_seconds": "0", "at_threshold": "stop"})

    assert OrderRevision.objects.get().changes["max_error_percent"] == [None, 40]
    run.crawl.refresh_from_db()
    assert enforce_thresholds(run, now).startswith("Stopped by its threshold: 50 of the 100 URLs")
    run.refresh_from_db()
    assert run.state == RunState.STOPPING


@pytest.mark.parametrize(
    ("ended", "failed", "says"),
    [(LEAST_ENDED - 1, 19, False), (LEAST_ENDED, 10, False), (LEAST_ENDED, 11, True)],
)
def test_more_than_the_share_of_enough_urls_must_have_failed(ended, failed, says):
    assert (
        bool(
            error_threshold_sentence(
                ThresholdsPart(max_error_percent=50), ended=ended, failed=failed
            )
        )
        is says
    )


def test_room_is_too_little_below_the_threshold_only():
    part = ThresholdsPart(min_free_bytes=5 * MIB)

    assert disk_threshold_sentence(part, free=5 * MIB, where="/archive") == ""
    assert "/archive has 4 MiB free, the threshold is 5 MiB" in disk_threshold_sentence(
        part, free=5 * MIB - 1, where="/archive"
    )


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("max_error_percent", 100, "99 or less"),
        ("error_minutes", 0, "1 or more"),
        ("at_threshold", "shrug", "must be 'pause' or 'stop'"),
        ("wait_alert_minutes", True, "whole number"),
    ],
)
def test_what_is_wrong_with_a_threshold_is_said_at_its_field(field, value, sentence):
    order, errors = read_order({"name": "a", "seeds": ["http://a.test/"], field: value})

    assert order is None
    assert sentence in errors[field]
