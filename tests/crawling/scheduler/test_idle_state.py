"""An idle installation is looked after less often, and as usual once work begins."""

from __future__ import annotations

from uuid import uuid4

import pytest

from allocation.models import Process
from allocation.services import register_process, release_resources, request_resources
from crawling.crawls.creation import create_crawl, start_run
from crawling.models import Run
from crawling.models.jobs import RunState
from crawling.runs.steering import abort, pause
from crawling.scheduler.duties import Progress
from crawling.scheduler.idle_state import is_idle
from crawling.scheduler.rounds import IDLE_SECONDS, Duty, duties, make_round

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


def test_a_crawl_that_has_ended_is_at_rest(crawl):
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


def test_a_duty_about_runs_at_work_rests_with_them_and_is_done_at_once_when_work_begins():
    done = []
    rounds = [Duty(lambda: done.append("work"), 1.0, IDLE_SECONDS)]

    for second in range(int(IDLE_SECONDS)):
        make_round(rounds, float(second), is_idle=True)
    assert done == ["work"]
    make_round(rounds, IDLE_SECONDS, is_idle=True)
    assert done == ["work"] * 2
    make_round(rounds, IDLE_SECONDS + 1, is_idle=False)
    assert done == ["work"] * 3


def test_a_duty_that_is_not_done_yet_goes_on_at_rest():
    """As the deletion of a large run does."""
    parts = iter([Progress.UNFINISHED, Progress.UNFINISHED, Progress.DONE])
    rounds = [Duty(lambda: next(parts), 1.0, IDLE_SECONDS)]

    assert [make_round(rounds, 5.0, is_idle=True) for _ in range(4)] == [
        Progress.UNFINISHED,
        Progress.UNFINISHED,
        Progress.DONE,
        Progress.DONE,
    ]


def test_what_begins_by_itself_keeps_its_rhythm_at_rest():
    """Schedules, alerts and jobs that Redis lost do not need a run at work."""
    own = {duty.do.__name__ for duty in duties() if not duty.idle_seconds}

    assert own >= {
        *("start_scheduled", "follow_changes", "raise_ongoing_alerts", "wake_courier"),
        *("resend_background", "rejudge_after_edits", "measure_disk"),
    }
