"""The scheduler: what is due begins, what was lost is found again, and a second scheduler does no
harm."""

from __future__ import annotations

import json
from datetime import timedelta

import django_rq
import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone
from rq import Worker
from rq.job import JobStatus

from allocation.models import Grant, Outbox, Process
from allocation.services import create_pool_like, finish_process, reap_expired, take_lease
from allocation.services import transaction as bank_transactions
from crawling.fetching.worker import rq_worker
from crawling.fetching.worker.own_jobs import RUN_SHIFT
from crawling.fetching.worker.rq_worker import ShiftWorker
from crawling.installation.pools import default_pool
from crawling.jobs import rq_jobs
from crawling.jobs.rq_jobs import RENDERING, live_workers
from crawling.machine.browser import BrowserUnits
from crawling.models import Host, HostQueue, Run, RunProcess, RunTotal, Shift
from crawling.orders.order import CrawlOrder
from crawling.runs import grants, start
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from crawling.scheduler import messages
from crawling.scheduler.duties import (
    Progress,
    count_workers,
    delete_expired_rows,
    register_continued_runs,
    settle_interrupted_runs,
    start_due_crawls,
)
from crawling.scheduler.leader import Leadership, has_leader
from crawling.scheduler.messages import deliver_messages, enqueue_shift, resend_lost_starts
from crawling.scheduler.rounds import duties
from tests.races.conftest import rival, row_held
from tests.stack import wait_until

__all__ = ["rival"]

SEED = "http://127.0.0.1:8900/"


@pytest.fixture
def run(order):
    return start_run(create_crawl(order(SEED)))


def holder(run: Run) -> Process:
    return Process.objects.get(run_process__run=run)


def test_every_duty_that_tests_do_by_hand_has_its_turn():
    done = {duty.do.__name__ for duty in duties()}

    assert done == {
        "ask_for_replay_files",
        "close_shifts_lost_here",
        "continue_reranking",
        "count_workers",
        "delete_expired_rows",
        "delete_removed_listeners",
        "delete_removed_watches",
        "deliver_other_messages",
        "end_and_delete_old_jobs",
        "fit_processes",
        "follow_changes",
        "forget_clocks",
        "forget_cold_pages",
        "forget_deleted",
        "forget_deleted_collections",
        "keep_checkpoints",
        "keep_to_rules",
        "keep_wait_counts",
        "measure_disk",
        "raise_ongoing_alerts",
        "reap_expired",
        "register_continued_runs",
        "rejudge_after_edits",
        "remove_abandoned_folders",
        "remove_rows",
        "request_due_checkpoints",
        "request_due_jobs",
        "request_sending",
        "resend_lost_background_jobs",
        "resend_lost_starts",
        "sample_use",
        "settle_interrupted_runs",
        "start_due_crawls",
        "start_idle_crawls",
        "start_scheduled",
        "take_over_hosts",
        "total_minutes",
        "trim_robots",
        "write_due_summaries",
    }


def test_a_granted_start_becomes_one_job(run, queue):
    deliver_messages()
    deliver_messages()

    assert [job.args for job in queue.jobs] == [[holder(run).pk, 1]]
    assert not Outbox.objects.filter(sent_at=None).exists()


def test_a_job_may_last_as_long_as_the_longest_shift(run, queue, settings):
    settings.CRAWL_SLICE_SECONDS = 600

    deliver_messages()

    assert queue.jobs[0].timeout > 10 * 600


def test_a_message_whose_delivery_failed_stays_to_be_delivered(run, queue, monkeypatch):
    def fail(process, epoch, **_):
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(messages, "enqueue_shift", fail)
        with pytest.raises(ConnectionError):
            deliver_messages()

    deliver_messages()

    assert len(queue.jobs) == 1


def test_a_job_left_over_from_another_time_does_not_stand_in_the_way(run, queue):
    deliver_messages()
    queue.jobs[0].set_status(JobStatus.FAILED)
    queue.empty()
    enqueue_shift(holder(run).pk, 1)

    assert len(queue.jobs) == 1


def test_a_start_that_redis_lost_is_sent_again(run, queue, monkeypatch):
    deliver_messages()
    queue.connection.flushdb()
    resend_lost_starts()
    assert queue.jobs == []  # it may be on its way still

    monkeypatch.setattr(messages, "RESEND_AFTER", timedelta(0))
    resend_lost_starts()
    assert len(queue.jobs) == 1


def test_a_start_whose_worker_was_killed_before_it_began_is_sent_again(run, queue, monkeypatch):
    deliver_messages()
    queue.connection.lmove(queue.key, queue.intermediate_queue.key)  # what a worker does first
    monkeypatch.setattr(messages, "RESEND_AFTER", timedelta(0))
    resend_lost_starts()
    assert queue.jobs == []  # it may be about to begin

    monkeypatch.setattr(rq_jobs, "ON_ITS_WAY", timedelta(0))
    resend_lost_starts()
    assert [job.args for job in queue.jobs] == [[holder(run).pk, 1]]
    assert queue.intermediate_queue.get_job_ids() == []


def test_jobs_hold_no_code_and_are_forgotten_after_a_week_if_they_fail(run, queue):
    deliver_messages()

    [job] = queue.jobs
    assert json.loads(job.data) == [RUN_SHIFT, None, [holder(run).pk, 1], {}]
    assert job.failure_ttl == 7 * 24 * 3600


def test_what_is_over_is_forgotten(run, monkeypatch):
    deliver_messages()
    Outbox.objects.update(sent_at=timezone.now() - timedelta(days=2))
    Outbox.objects.create(kind="pump", pool=holder(run).pool)
    for key, days in (("old", -1), ("new", 1)):
        Session.objects.create(
            session_key=key, session_data="x", expire_date=timezone.now() + timedelta(days=days)
        )

    # a turn deletes some, since other duties wait meanwhile
    monkeypatch.setattr("crawling.scheduler.duties.MESSAGES_AT_A_TIME", 1)
    while delete_expired_rows() is Progress.UNFINISHED:
        pass

    assert list(Outbox.objects.values_list("kind", flat=True)) == ["pump"]
    assert list(Session.objects.values_list("pk", flat=True)) == ["new"]


def test_a_start_that_was_taken_up_is_not_sent_again(run, queue, monkeypatch):
    assert take_lease(process=holder(run).pk, epoch=1, worker="somebody")
    monkeypatch.setattr(messages, "RESEND_AFTER", timedelta(0))

    resend_lost_starts()

    assert queue.jobs == []


def test_a_start_that_nobody_takes_up_is_reaped_and_asked_for_again(order, queue, settings):
    settings.BANK_PICKUP_SECONDS = 0
    run = start_run(create_crawl(order(SEED)))

    assert [reaped.process for reaped in reap_expired()] == [holder(run).pk]
    settings.BANK_PICKUP_SECONDS = 60
    deliver_messages()

    # 1 was granted, 2 reaped it, 3 is the new grant
    assert (holder(run).holding, holder(run).epoch) == (True, 3)


def test_a_lost_shift_is_closed_and_its_urls_go_back(run, queue, settings):
    settings.BANK_LEASE_SECONDS = 0
    process = RunProcess.objects.get(run=run)
    take_lease(process=process.bank_process_id, epoch=1, worker="lost")
    shift = begin_shift(process, epoch=1, worker="lost")
    run.urls.update(state="p", shift=shift)
    run.queues.update(queued=0)

    reap_expired()
    deliver_messages()

    shift.refresh_from_db()
    assert shift.ending == "lost: its lease ran out"
    assert set(run.urls.values_list("state", "shift")) == {("q", None)}
    assert run.queues.get().queued == 1


@pytest.mark.parametrize("most", ["max_pages", "max_bytes", "max_seconds"])
def test_the_duties_bear_the_largest_limits_that_an_order_may_have(order, queue, most):
    """A number that PostgreSQL cannot take would end the duty for all crawls."""
    limit = CrawlOrder.model_json_schema()["properties"][most]["anyOf"][0]["maximum"]
    run = start_run(create_crawl(order(SEED, requisites=True, **{most: limit})))
    Run.objects.filter(pk=run.pk).update(state="running", started_at=timezone.now())
    RunTotal.objects.update_or_create(run=run, defaults={"fetched": 9, "files": 3, "bytes": 7})

    progress = [settle_interrupted_runs(), start_due_crawls(), register_continued_runs()]

    run.refresh_from_db()
    assert (progress, run.state) == ([Progress.DONE] * 3, "running")


@pytest.mark.parametrize("step", ["register_processes", "request_shifts"])
def test_a_start_that_was_cut_off_between_two_steps_is_finished(order, queue, monkeypatch, step):
    crawl = create_crawl(order(SEED))
    with monkeypatch.context() as patch:
        patch.setattr(start, step, lambda run: None)
        patch.setattr(start, "request_shifts", lambda run: None)
        run = start_run(crawl)
    assert not Process.objects.filter(holding=True).exists()

    settle_interrupted_runs()
    start_due_crawls()

    assert holder(run).holding


@pytest.mark.parametrize("step", ["register_processes", "request_shifts"])
def test_a_crawl_that_finds_the_bank_busy_is_started_by_the_scheduler(
    order, queue, monkeypatch, rival, step
):
    monkeypatch.setitem(bank_transactions.LIMITS, "lock_timeout", "20ms")
    crawl = create_crawl(order(SEED))
    with monkeypatch.context() as patch:
        patch.setattr(start, step, lambda run: call_while_busy(rival, getattr(grants, step), run))
        run = start_run(crawl)
    run.refresh_from_db()
    assert (run.state, Process.objects.filter(holding=True).exists()) == ("queued", False)

    settle_interrupted_runs()
    start_due_crawls()

    assert holder(run).holding


def test_a_process_without_hosts_is_started_although_another_shift_has_them_all(order, queue):
    run = start_run(create_crawl(order(SEED, processes=2)))
    queue_row = HostQueue.objects.get(run=run)
    owner = run.processes.get(number=queue_row.process_number)
    other = run.processes.exclude(pk=owner.pk)
    shift = begin_shift(owner, epoch=1, worker="a worker")
    until = timezone.now() + timedelta(seconds=60)
    Host.objects.filter(pk=queue_row.host_id).update(shift=shift, lease_until=until)

    start_due_crawls()
    assert not Process.objects.get(run_process=other.get()).holding

    other.update(serving=False)
    start_due_crawls()
    assert Process.objects.get(run_process=other.get()).holding


def call_while_busy(rival, step, run: Run) -> None:
    with row_held(rival, "allocation_pool", default_pool().pk):
        step(run)


def test_enrolling_again_after_a_crash_registers_nobody_twice(run):
    run.processes.update(bank_process=None)

    grants.register_processes(run)

    assert Process.objects.count() == 1
    assert run.processes.get().bank_process == Process.objects.get()


@pytest.mark.parametrize(("state", "becomes"), [("pausing", "paused"), ("stopping", "stopped")])
def test_a_run_that_was_winding_down_when_everything_died_arrives(run, state, becomes):
    finish_process(process=holder(run).pk)
    Run.objects.filter(pk=run.pk).update(state=state)

    settle_interrupted_runs()

    run.refresh_from_db()
    assert run.state == becomes


def test_an_ended_run_that_is_still_in_the_bank_leaves_it(run):
    Run.objects.filter(pk=run.pk).update(state="stopped")

    settle_interrupted_runs()

    assert (holder(run).state, holder(run).holding) == ("finished", False)


def test_a_run_whose_claim_the_pool_can_no_longer_serve_fails_and_says_why(order, pool):
    crawl = create_crawl(order(SEED, claim={"memory": 512}))
    pool.capacity = [256 if units == 512 else units for units in pool.capacity]
    pool.available = pool.capacity
    pool.save()

    run = start_run(crawl)

    run.refresh_from_db()
    assert run.state == "failed"
    assert "may not claim more of a class than the pool has" in run.reason


def test_a_paused_run_asks_for_nothing(run, queue):
    finish_process(process=holder(run).pk)
    Run.objects.filter(pk=run.pk).update(state="paused")

    start_due_crawls()
    settle_interrupted_runs()

    assert not Process.objects.filter(holding=True).exists()


def test_the_worker_class_has_as_many_units_as_there_are_workers(pool, queue):
    workers = [Worker([queue]) for _ in range(3)]
    for worker in workers:
        worker.register_birth()

    count_workers()

    pool.refresh_from_db()
    assert pool.capacity[0] == 3
    create_pool_like(name="press", capacity={one.key: 1 for one in pool.classes.all()})
    count_workers()
    pool.refresh_from_db()
    assert pool.capacity[0] == 2, "another pool has one of them"
    for worker in workers:
        worker.register_death()


def test_a_worker_that_was_killed_counts_no_longer_than_its_entry_lasts(pool, queue):
    killed, other = Worker([queue]), Worker([queue])
    for worker in (killed, other):
        worker.register_birth()
    queue.connection.delete(killed.key)  # as Redis does when no sign of life came for half a minute

    count_workers()

    pool.refresh_from_db()
    assert pool.capacity[0] == 1
    other.register_death()


def test_a_worker_whose_redis_lost_everything_is_counted_again_after_its_next_sign_of_life(queue):
    worker = ShiftWorker([queue])
    worker.register_birth()
    queue.connection.flushdb()

    worker.heartbeat()

    assert live_workers() == 1
    worker.register_death()


def test_with_no_worker_alive_the_class_keeps_its_units(pool, queue):
    count_workers()

    pool.refresh_from_db()
    assert pool.capacity[0] == 4


def test_of_two_schedulers_one_leads_until_it_is_gone(transactional_db):
    first, second = Leadership(), Leadership()
    try:
        assert not has_leader()
        assert first.is_held()
        assert not second.is_held()
        assert has_leader()
        first.close()
        wait_until(second.is_held)  # the server lets go once it sees that the connection is gone
    finally:
        first.close()
        second.close()


def test_a_shift_is_worked_once_however_often_its_job_is_run(run, make_site):
    process = RunProcess.objects.get(run=run)

    assert begin_shift(process, epoch=1, worker="one")
    assert begin_shift(process, epoch=1, worker="two") is None
    assert Shift.objects.count() == 1


@pytest.fixture
def rendering(queue, monkeypatch):
    """Return a function that makes a worker whose browser may have these units; None: no
    browser.
    """
    monkeypatch.setattr(rq_worker, "browser_units", lambda *_, **__: units)
    units, workers = None, []

    def make(found: BrowserUnits | None) -> ShiftWorker:
        nonlocal units
        units = found
        worker = ShiftWorker([queue])
        worker.register_birth()
        worker.heartbeat()
        workers.append(worker)
        return worker

    yield make
    for worker in workers:
        worker.register_death()


def test_the_classes_of_browsers_have_what_the_browsers_of_live_workers_may_have(
    browsers, rendering
):
    rendering(BrowserUnits(4, 2048))
    second = rendering(BrowserUnits(2, 1024))
    rendering(None)

    count_workers()
    browsers.refresh_from_db()
    assert (browsers.capacity[0], browsers.capacity[-2:]) == (3, [6, 3072])

    second.connection.delete(second.key)  # as Redis does once no sign of life comes
    count_workers()
    browsers.refresh_from_db()
    assert (browsers.capacity[0], browsers.capacity[-2:]) == (2, [4, 2048])


def test_without_a_browser_the_classes_have_no_units(browsers, rendering):
    rendering(None)

    count_workers()

    browsers.refresh_from_db()
    assert browsers.capacity[-2:] == [0, 0]


def test_only_a_worker_with_a_browser_serves_the_queue_of_runs_that_render(rendering):
    assert rendering(BrowserUnits(4, 2048)).queue_names() == ["rendering", "shifts"]
    assert rendering(None).queue_names() == ["shifts"]


def test_a_start_of_a_run_that_renders_goes_to_workers_with_a_browser(browsers, order, queue):
    rendering_queue = django_rq.get_queue(RENDERING)
    rendering_queue.empty()
    run = start_run(create_crawl(order(SEED, render="when_needed")))

    deliver_messages()

    assert [job.args for job in rendering_queue.jobs] == [[holder(run).pk, 1]]
    assert not queue.jobs
    rendering_queue.empty()
    Grant.objects.update(granted_at=timezone.now() - timedelta(hours=1))

    resend_lost_starts()

    assert (len(rendering_queue.jobs), len(queue.jobs)) == (1, 0)
    rendering_queue.empty()
