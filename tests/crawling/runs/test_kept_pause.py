"""Pause and keep: a run rests, and what it holds waits for it."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

from allocation.errors import BadKeepTime
from allocation.fields import ClockTimestamp
from allocation.models import Process
from allocation.services import reap_expired, register_process, request_resources
from crawling.fetching.worker.jobs import run_shift
from crawling.models import LogLine, Run
from crawling.runs import steering
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.scheduler.duties import start_due_crawls
from tests.crawling.conftest import granted_starts

BANDWIDTH = 40_000


@pytest.fixture
def pausing_site(make_site):
    """The site's first page pauses the crawl that fetches it, as an operator would at that
    moment."""

    def make(**options):
        def home(request):
            try:
                steering.pause(Run.objects.get().crawl, **options)
            finally:
                connections.close_all()
            return 200, {"Content-Type": "text/html"}, '<a href="/after">after</a>'

        return make_site({"/": home, "/after": "the end"})

    return make


@pytest.fixture
def order_of(order):
    return lambda site: order(f"{site.url}/", name="kept", claim={"bandwidth": BANDWIDTH})


@pytest.fixture
def kept(make_site, order_of) -> Run:
    """A run that was paused, to keep what it holds, before its first shift had begun to fetch."""
    run = start_run(
        create_crawl(order_of(make_site({"/": '<a href="/after">after</a>', "/after": "the end"})))
    )
    steering.pause(run.crawl, keep_seconds=600)
    work_once()
    run.refresh_from_db()
    return run


def work_once() -> list[str]:
    return [run_shift(process, epoch) for process, epoch in granted_starts()]


def bank_process(run: Run) -> Process:
    return Process.objects.get(run_process__run=run)


def run_out(process: Process) -> None:
    Process.objects.filter(pk=process.pk).update(kept_until=ClockTimestamp() - timedelta(seconds=1))


def reserved_sentence(run: Run) -> str:
    return (
        "Paused by an operator; what it held is reserved until "
        f"{bank_process(run).kept_until:%Y-%m-%d %H:%M} UTC."
    )


def test_a_shift_that_is_paused_to_keep_leaves_its_units_reserved(
    transactional_db, pausing_site, order_of
):
    run = start_run(create_crawl(order_of(pausing_site(keep_seconds=600))))
    work_once()

    run.refresh_from_db()
    assert (bank_process(run).holding, bank_process(run).lease_until) == (True, None)
    assert (run.state, run.reason) == ("paused", reserved_sentence(run))
    assert LogLine.objects.filter(message__contains="39.1 MB/s of bandwidth").exists()


def test_a_shift_that_is_paused_without_keeping_gives_everything_back(
    transactional_db, pausing_site, order_of
):
    run = start_run(create_crawl(order_of(pausing_site())))
    work_once()

    run.refresh_from_db()
    assert (run.state, run.reason) == (
        "paused",
        "Paused by an operator; all its units are released.",
    )
    assert not bank_process(run).holding


def test_units_are_said_to_be_given_back_only_once_they_are(make_site, order_of):
    run = start_run(create_crawl(order_of(make_site({"/": "home"}))))

    assert (
        steering.pause(run.crawl).reason
        == "Paused by an operator; what it holds is being released."
    )
    assert bank_process(run).holding
    work_once()

    run.refresh_from_db()
    assert (run.state, run.reason) == (
        "paused",
        "Paused by an operator; all its units are released.",
    )
    assert not bank_process(run).holding


def test_a_run_that_paused_before_its_shift_began_says_so_too(kept):
    assert (kept.state, kept.reason) == ("paused", reserved_sentence(kept))


def test_a_resumed_run_goes_on_with_what_it_kept(kept, work_off):
    run = kept
    held = bank_process(run).allocated

    steering.resume(run.crawl)

    process = bank_process(run)
    assert (process.allocated, process.kept_until) == (held, None)
    work_off(Run.objects.get())
    run.refresh_from_db()
    assert (run.state, run.keep_seconds) == ("finished", None)
    assert run.urls.filter(url__endswith="/after", state="s").exists()
    assert not bank_process(run).holding


def test_the_scheduler_resumes_what_a_crash_left_kept(kept):
    run = kept
    Run.objects.update(state="queued")

    start_due_crawls()

    assert [process for process, _ in granted_starts()] == [bank_process(run).pk]
    assert bank_process(run).kept_until is None


def test_a_reservation_that_ran_out_leaves_the_run_paused_and_an_ordinary_start_resumes_it(
    kept, work_off
):
    run = kept
    run_out(bank_process(run))
    reap_expired()

    run.refresh_from_db()
    assert (run.state, bank_process(run).holding) == ("paused", False)
    steering.resume(run.crawl)
    assert work_off(Run.objects.get()).state == "finished"


def test_stopping_a_kept_run_gives_everything_back(kept):
    run = kept

    assert steering.stop(run.crawl).state == "stopped"

    assert not bank_process(run).holding


def test_what_cannot_be_kept_safely_is_given_back_and_said(
    transactional_db, pausing_site, order_of, pool
):
    run = start_run(create_crawl(order_of(pausing_site(keep_seconds=600))))
    # The units that it may still need are there only once the crawl has given its bandwidth back.
    other = register_process(
        pool=pool.pk, label="other", run_ref="other", maximum={"bandwidth": 90_000}
    )
    assert request_resources(
        process=other.pk, amounts={"bandwidth": 1_000}, request_id=uuid4()
    ).granted

    process, epoch = granted_starts()[0]
    run_shift(process, epoch)

    run.refresh_from_db()
    assert run.state == "paused"
    assert "nothing is reserved" in run.reason
    assert not bank_process(run).holding
    assert "stuck: other" in LogLine.objects.get(message__startswith="Not reserved").message


def test_a_reservation_of_no_time_is_refused_before_anything_changes(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    run = start_run(crawl)

    with pytest.raises(BadKeepTime):
        steering.pause(crawl, keep_seconds=0)

    run.refresh_from_db()
    assert run.state == "queued"


def test_the_command_line_keeps_for_so_many_minutes(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="mine"))
    start_run(crawl)

    with pytest.raises(CommandError, match="at most a day"):
        call_command("crawl", "pause", "mine", "--keep", "9999")
    call_command("crawl", "pause", "mine", "--keep", "5", stdout=StringIO())

    assert Run.objects.get().keep_seconds == 300
