"""An idle installation is looked after less often, and as usual once work begins."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from uuid import uuid4

import pytest

from allocation.models import Process
from allocation.services import register_process, release_resources, request_resources
from crawling.machine.notices import StopEvent
from crawling.models import Run
from crawling.models.jobs import RunState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.housekeeping import run_removal
from crawling.runs.housekeeping.run_removal import request_removal
from crawling.runs.start import start_run
from crawling.runs.steering import abort, pause
from crawling.scheduler import idle_state, rounds
from crawling.scheduler.duties import Progress
from crawling.scheduler.idle_state import IdleState, is_idle
from crawling.scheduler.rounds import (
    IDLE_SECONDS,
    PAUSES,
    Duty,
    do_round,
    duties,
    run_scheduler,
)
from tests.stack import wait_until

SEED = "http://127.0.0.1:8900/"


@pytest.fixture
def crawl(order):
    return create_crawl(order(SEED))


def test_a_crawl_is_at_work_from_its_start_until_it_is_paused(crawl):
    assert is_idle()
    run = start_run(crawl)
    assert not is_idle()

    pause(crawl)
    [holder] = Process.objects.filter(lease_until__isnull=False)  # a worker would hand it in
    release_resources(
        process=holder.pk, epoch=holder.epoch, release_id=uuid4(), amounts=None, reason="paused"
    )

    assert Run.objects.get(pk=run.pk).state == RunState.PAUSED
    assert is_idle()


def test_a_crawl_that_has_ended_is_not(crawl):
    start_run(crawl)

    abort(crawl)

    assert is_idle()


def test_a_process_that_waits_for_units_or_has_some_is_at_work(pool):
    first, second = (
        register_process(pool=pool.pk, label=name, run_ref=name, maximum={"worker": 4})
        for name in ("first", "second")
    )
    for process in (first, second):
        request_resources(process=process.pk, amounts={"worker": 4}, request_id=uuid4())
    assert not is_idle()


def test_a_duty_about_runs_at_work_is_seldom_done_without_any_and_at_once_when_work_begins():
    done = []
    some = [Duty(lambda: done.append("work"), 1.0)]

    for second in range(int(IDLE_SECONDS)):
        do_round(some, float(second), is_idle=True)
    assert done == ["work"]
    do_round(some, IDLE_SECONDS, is_idle=True)
    assert done == ["work"] * 2
    do_round(some, IDLE_SECONDS + 1, is_idle=False)
    assert done == ["work"] * 3


@pytest.mark.parametrize(
    ("left", "due"), [(Progress.UNFINISHED, [0.0, 0.1, 0.2]), (Progress.PENDING, [0.0, 1.0, 2.0])]
)
def test_a_duty_that_is_not_done_yet_goes_on_in_an_idle_installation(left, due):
    parts, done = iter([left, left, Progress.DONE]), []
    some = [Duty(lambda: next(parts), 1.0)]

    for now in (0.0, 0.1, 0.2, 1.0, 2.0, 3.0):
        if some[0].is_due(now, is_idle=True):
            done.append(now)
            assert do_round(some, now, is_idle=True) is (left if len(done) < 3 else Progress.DONE)

    assert done == due


def test_the_rows_of_a_deleted_run_go_slice_by_slice_whether_anything_is_at_work_or_not(
    crawl, monkeypatch
):
    start_run(crawl)
    abort(crawl)
    request_removal(crawl.runs.get(), for_good=True, by=None)
    monkeypatch.setattr(run_removal, "remove_slice", lambda run_id: True)
    assert is_idle()

    progress = do_round(duties(), 1.0, is_idle=True)

    assert progress is Progress.PENDING
    assert PAUSES[progress] <= 1


def test_a_deleted_run_that_another_crawl_may_need_keeps_no_duty_at_work(crawl, monkeypatch):
    start_run(crawl)
    abort(crawl)
    request_removal(crawl.runs.get(), for_good=True, by=None)
    monkeypatch.setattr(run_removal, "_may_have_needed_payloads", lambda run: True)

    assert do_round(duties(), 1.0, is_idle=True) is Progress.DONE
    assert Run.all_objects.filter(crawl=crawl).exists()


def test_what_begins_by_itself_keeps_its_rhythm_in_an_idle_installation():
    """Schedules, alerts and jobs that Redis lost do not need a run at work."""
    own = {duty.do.__name__ for duty in duties() if not duty.idle_seconds}

    assert own >= {
        *("start_scheduled", "follow_changes", "request_sending"),
        *("request_due_jobs", "resend_lost_background_jobs", "rejudge_after_edits"),
    }


@pytest.fixture
def scheduler(monkeypatch):
    """A scheduler at work in this process, of which nothing ends an idle wait but what it is told;
    its idle state.
    """
    idle, ending = IdleState(), StopEvent()
    monkeypatch.setattr(idle_state, "IDLE_FLOOR_SECONDS", 600.0)
    monkeypatch.setattr(rounds, "IdleState", lambda: idle)

    @contextmanager
    def at_work():
        thread = threading.Thread(target=run_scheduler, args=(ending,))
        thread.start()
        try:
            yield idle
        finally:
            ending.set()
            thread.join(30)
            assert not thread.is_alive()

    return at_work


@pytest.mark.django_db(transaction=True)
def test_a_start_is_delivered_at_once_though_the_installation_was_idle(crawl, queue, scheduler):
    with scheduler() as idle:
        wait_until(lambda: idle.is_on)
        start_run(crawl)
        wait_until(lambda: queue.jobs, seconds=30)
        wait_until(lambda: not idle.is_on, seconds=30)


@pytest.mark.django_db(transaction=True)
def test_an_idle_scheduler_ends_at_once(pool, scheduler):
    with scheduler() as idle:
        wait_until(lambda: idle.is_on)
