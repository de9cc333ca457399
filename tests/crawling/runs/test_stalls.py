"""Why a run is not fetching, gathered from its rows, on its page and in the evidence."""

from __future__ import annotations

import json
from datetime import timedelta
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from crawling.dashboard.run.diagnosis import stall_of
from crawling.dashboard.run.processes import holdings_and_waits
from crawling.models import CrawlJob, Host, HostQueue, Level, LogLine, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.diagnosis import StallCause
from crawling.runs.shift_lifecycle import begin_shift, settle_run
from crawling.runs.start import start_run
from crawling.runs.steering import pause, pause_for_trouble
from crawling.runs.wait_reason import wait_reasons
from tests.crawling.fetching.preresolver.test_gate import broken, live, settle
from tests.crawling.pages import browser, soup


def verdict_on(run):
    return stall_of(
        run, next((process.wait for process in holdings_and_waits(run) if process.wait), None)
    )


SEED = "http://127.0.0.1:8900/"


@pytest.fixture
def run(order):
    return start_run(create_crawl(order(SEED)))


@pytest.fixture
def idle(order):
    """A run whose request at the bank is not made yet: its host rests for two minutes."""
    Host.objects.create(name="127.0.0.1:8900", due_at=timezone.now() + timedelta(seconds=120))
    return start_run(create_crawl(order(SEED)))


def test_without_a_worker_a_grant_is_said_to_wait_for_one(run, queue):
    assert verdict_on(run).cause == StallCause.NO_WORKER


def test_a_run_at_work_is_fetching_and_one_that_has_ended_gets_no_verdict(run, work_off):
    begin_shift(run.processes.get(), epoch=1, worker="me")
    assert verdict_on(run).cause == StallCause.FETCHING

    run.state = "finished"
    assert verdict_on(run) is None


def test_a_pause_names_who_asked_for_it_or_what_went_wrong(run):
    ann = User.objects.create_user("ann")
    assert "Paused by ann on" in verdict_on(pause(run.crawl, by=ann)).sentence

    second = start_run(create_crawl({"name": "second", "seeds": [SEED], "delay_seconds": 0}))
    pause_for_trouble(second.pk, "The disk is full.")
    assert "The disk is full." in verdict_on(settle_run(second.pk)).sentence


def test_a_rest_is_told_from_a_site_that_has_had_too_much(idle):
    assert verdict_on(idle).cause == StallCause.RESTING

    HostQueue.objects.update(due_at=timezone.now() + timedelta(seconds=300))
    Url.objects.update(status=429, due_at=timezone.now() + timedelta(seconds=300))
    assert verdict_on(idle).cause == StallCause.THROTTLED


def test_a_host_that_waits_for_its_name_is_told_from_one_that_rests_and_from_a_shift_to_come(
    order, identified
):
    live()
    host = Host.objects.create(
        name="a.test", dns_name="a.test", due_at=timezone.now() + timedelta(seconds=120)
    )
    run = start_run(create_crawl(order("http://a.test/")))  # asks for no shift yet
    Host.objects.filter(pk=host.pk).update(due_at=timezone.now())

    unasked, told = verdict_on(run), wait_reasons([run])[run.pk].reason
    broken("a.test", retry_in=40)
    failed = verdict_on(run)
    settle("a.test")

    assert (unasked.cause, failed.cause, verdict_on(run).cause) == (
        StallCause.NAME,
        StallCause.NAME,
        StallCause.NO_SCHEDULER,
    )
    assert "a.test waits for DNS" in unasked.sentence
    assert told in unasked.sentence
    assert failed.sentence.endswith(("look-up in 40 s.", "look-up in 39 s."))


def test_a_wait_at_the_bank_names_who_holds_what_is_short(order):
    for name, port in (("first", 8900), ("second", 8901)):
        start_run(
            create_crawl(order(f"http://127.0.0.1:{port}/", name=name, claim={"bandwidth": 60_000}))
        )

    stall = verdict_on(CrawlJob.objects.get(name="second").runs.get())

    assert (stall.cause, "first" in stall.sentence) == (StallCause.GRANT, True)


def test_the_page_shows_the_verdict_and_the_evidence_holds_what_it_rests_on(idle):
    LogLine.objects.create(run=idle, level=Level.WARNING, message="Slow.")
    at = LogLine.objects.create(run=idle, level=Level.ERROR, message="It\nbroke", url=SEED).at
    operator = browser("operator")
    page = soup(operator.get(reverse("crawling:crawl", args=[idle.crawl_id])))

    assert "Not fetching: crawl delay." in page.select_one(".stall").get_text(" ", strip=True)
    evidence = page.select_one("a[href*='evidence.zip']")["href"]
    with ZipFile(BytesIO(operator.get(evidence).content)) as bundle:
        told = json.loads(bundle.read("verdict.json"))
        assert told["verdict"]["cause"] == "crawl delay"
        assert told["facts"]["next_host"]["name"] == "127.0.0.1:8900"
        assert "127.0.0.1:8900" in bundle.read("hosts.csv").decode()
        assert SEED in bundle.read("urls-waiting.csv").decode()
        assert json.loads(bundle.read("crawl.json"))["state"] == "queued"
        first, second, *_ = bundle.read("log.txt").decode().splitlines()
        assert (first[:26], first[26:]) == (
            f"{at:%Y-%m-%dT%H:%M:%S.%f}",
            f"Z error It broke {SEED}",
        )
        assert second.endswith("Z warning Slow.")
        assert "discovered" in bundle.read("minutes.csv").decode()
        assert {"resources.json", "shifts.csv"} <= set(bundle.namelist())
    assert browser("viewer").get(evidence).status_code == 403
