"""The page of the house: who works on what, how long jobs wait, whose servers these are."""

from __future__ import annotations

import os

import django_rq
import pytest
import redis
from django.urls import reverse
from redis.backoff import NoBackoff
from redis.retry import Retry

from crawling.fetching.worker.rq_worker import ShiftWorker
from crawling.jobs.rq_jobs import SHIFTS
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from crawling.scheduler.messages import enqueue_shift
from tests.crawling.conftest import loopback, order, pool  # noqa: F401  # fixtures
from tests.crawling.pages import browser, soup

HEALTH = reverse("health")
#: gives up at once, where the product's own tries for some seconds
DEAD = redis.Redis(unix_socket_path="/nonexistent.sock", retry=Retry(NoBackoff(), 0))


@pytest.fixture
def viewer(db):
    return browser("viewer")


@pytest.fixture
def worker():
    worker = ShiftWorker([django_rq.get_queue(SHIFTS)], connection=django_rq.get_connection(SHIFTS))
    worker.register_birth()
    yield worker
    worker.register_death()


def text_of(client) -> str:
    return " ".join(soup(client.get(HEALTH)).main.get_text(" ").split())


def test_an_idle_house_says_that_nobody_works_and_how_to_begin(viewer):
    text = text_of(viewer)

    assert "No worker is running" in text
    assert "make run starts some" in text
    assert "PostgreSQL" in text
    assert "agrees with this machine's" in text


def test_a_worker_is_shown_with_the_crawl_that_it_has_in_hand(viewer, worker, order):  # noqa: F811
    run = start_run(create_crawl(order("http://127.0.0.1:8901/", name="Atlas")))
    process = run.processes.get()
    begin_shift(process, epoch=1, worker="w")
    process.refresh_from_db()
    enqueue_shift(process.bank_process_id, 1)
    enqueue_shift(process.bank_process_id, 2)
    worker.set_current_job_id(f"shift-{process.bank_process_id}-1")

    page = soup(viewer.get(HEALTH))
    row = page.select_one("table tbody tr")
    assert f"process {os.getpid()}" in row.get_text()
    assert row.find("a", href=reverse("crawling:crawl", args=[run.crawl_id])).get_text() == "Atlas"
    shifts = viewer.get("/api/v1/health").json()["queues"][0]
    assert (shifts["name"], shifts["length"]) == ("shifts", 2)
    assert shifts["oldest"]
    [told] = viewer.get("/api/v1/health").json()["workers"]
    assert told["task"]["crawl"] == run.crawl_id
    assert told["memory"] > 1_000_000


def test_a_clock_that_is_off_is_told(viewer, monkeypatch):
    monkeypatch.setattr("crawlsite.health.report.CLOCK_SECONDS", -1.0)

    assert "synchronise both with a time server" in text_of(viewer)


def test_a_redis_that_does_not_answer_is_told_and_the_rest_is_there(viewer, monkeypatch):
    monkeypatch.setattr("crawlsite.health.report.django_rq.get_connection", lambda name: DEAD)

    text = text_of(viewer)
    assert "Redis gives no answer (ConnectionError)" in text
    assert "PostgreSQL" in text


def test_a_job_that_ended_a_moment_ago_and_is_not_kept_is_no_error(viewer, worker):
    worker.set_current_job_id("alerts")

    [told] = viewer.get("/api/v1/health").json()["workers"]
    assert told["task"] is None
    assert viewer.get(HEALTH).status_code == 200
