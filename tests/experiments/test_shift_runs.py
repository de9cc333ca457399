"""Experiments on shifts: real crawls by real workers and the scheduler, under each policy."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch
from uuid import uuid4

import django_rq
import psycopg
import pytest
from django.db import connections
from django.utils import timezone

from allocation.models import Pool, Process, RequestKind
from allocation.services import create_pool, register_process, request_resources, take_lease
from crawling.base.errors import BadOrder, WrongState
from crawling.installation.pools import default_classes
from crawling.jobs.cancel import cancel_job
from crawling.jobs.rq_jobs import EXPERIMENT_SHIFTS, RUN_JOB, SHIFTS
from crawling.jobs.running import GONE, NOT_WANTED, run_in_this_process, run_job
from crawling.models import AllowedNetwork, BackgroundJob, CrawlJob
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.scheduler.leader import has_leader
from crawling.scheduler.messages import deliver_messages, resend_lost_background_jobs
from crawling.uses.alerts.models import Delivery, Listener
from experiments import runner, store
from experiments.form import NoScheduler, make_checked_experiment
from experiments.jobs import EXPERIMENT
from experiments.models import Experiment, ExperimentState
from experiments.pool_state import deadlocked_processes_of_pool, unsafe_grants
from experiments.report import experiment_view
from experiments.runner import BEGUN
from experiments.shift_run import network_note
from experiments.shift_workers import running_workers
from tests.crawling.conftest import CLASSES
from tests.experiments.test_runner import crossing
from tests.stack import SCHEDULER, running_stack, test_database_url, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

ASKED = {"kind": "shifts", "policy": "both", "requests": 2, "bound_seconds": 60.0, "seed": 277}


def test_crawls_run_under_each_policy_by_workers_of_their_own_and_are_deleted(tmp_path):
    create_pool(name="default", classes=CLASSES)
    with running_stack(tmp_path) as stack:  # no worker for crawls
        stack.start(SCHEDULER)
        wait_until(has_leader)
        experiment = make_checked_experiment(**ASKED)
        run_in_this_process(experiment.job)

    columns = experiment_view(experiment).columns
    for column in columns:
        assert [entry.label for entry in column.entries] == [
            "Completed:Request1",
            "Completed:Request2",
        ]
        assert (column.pages, column.deadlocked) == (10, 0)
        assert column.deciding_seconds > 0
        pool = Pool.objects.get(pk=column.pool)
        assert (pool.policy, pool.available) == (column.policy, pool.capacity)
    assert columns[1].unsafe_grants == 0
    assert not CrawlJob.all_objects.exists()
    assert not AllowedNetwork.objects.exists()


def test_no_other_process_takes_an_experiment_up_while_its_workers_run_and_after_them():
    key = "SELECT pg_try_advisory_lock(hashtext('job'), 1)"
    with EXPERIMENT.job.alone(1), psycopg.connect(test_database_url()) as other:
        with running_workers(1):
            assert other.execute(key).fetchone() == (False,)
        assert other.execute(key).fetchone() == (False,)


def test_workers_are_forked_while_no_other_thread_is_there():
    experiment = store.make_experiment(
        kind="shifts", requests=1, bound_seconds=8, seed=1, policies=["banker"]
    )
    before, seen = threading.active_count(), list[int]()

    with patch.object(runner, "_run_shifts", lambda *_: seen.append(threading.active_count())):
        run_in_this_process(experiment.job)

    assert seen == [before]


def test_without_a_scheduler_and_for_what_shifts_cannot_do_nothing_is_made():
    with pytest.raises(NoScheduler):
        make_checked_experiment(**ASKED)
    with pytest.raises(BadOrder) as told:
        make_checked_experiment(**{**ASKED, "policy": "all_at_once", "requests": 41})

    assert list(told.value.errors) == ["policy", "requests"]
    assert not Experiment.objects.exists()


@pytest.fixture
def killed():
    """An experiment whose process was killed while its only crawl had a granted start."""
    experiment = store.make_experiment(
        kind="shifts", requests=1, bound_seconds=8, seed=1, policies=["banker"]
    )
    BackgroundJob.objects.update(
        began_at=timezone.now(), heartbeat_at=timezone.now(), bookmark=BEGUN
    )
    AllowedNetwork.objects.create(
        network="127.0.0.1", port_from=9, port_to=9, note=network_note(experiment)
    )
    create_pool(name="default", classes=CLASSES)
    pool = create_pool(
        name=experiment.pool_name("banker"), classes=default_classes(1), is_experiment=True
    )
    Listener.objects.create(name="Chat", url="http://a/", secret="s", events=["started"])
    start_run(create_crawl({"name": "c", "seeds": ["http://127.0.0.1:9/"]}, own_pool=pool))
    return experiment


def test_shifts_of_an_experiment_wake_no_worker_of_crawls_and_alert_no_listener(killed):
    for name in (SHIFTS, EXPERIMENT_SHIFTS):
        django_rq.get_queue(name).empty()

    deliver_messages()

    assert [django_rq.get_queue(name).count for name in (SHIFTS, EXPERIMENT_SHIFTS)] == [0, 1]
    assert not Delivery.objects.exists()


def test_what_a_killed_experiment_has_left_is_removed_once_it_is_silent(killed):
    background = django_rq.get_queue("background")
    background.empty()

    with EXPERIMENT.job.alone(killed.job_id):  # its process lives
        assert in_another_session(run_job, killed.job_id) == NOT_WANTED
    resend_lost_background_jobs()
    (job,) = background.get_jobs()
    assert (job.func_name, job.args) == (RUN_JOB, [killed.job_id])
    run_job(killed.job_id)

    pool = Pool.objects.get(is_experiment=True)
    experiment = Experiment.objects.get()
    assert experiment.state == ExperimentState.BROKEN_OFF
    assert "ended unexpectedly" in experiment.job.trouble
    assert pool.available == pool.capacity
    assert not CrawlJob.all_objects.exists()
    assert not AllowedNetwork.objects.exists()


def in_its_session(work, *arguments):
    try:
        return work(*arguments)
    finally:
        connections.close_all()


def in_another_session(work, *arguments):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(in_its_session, work, *arguments).result(30)


def test_an_experiment_that_runs_and_one_that_waits_are_cancelled():
    waits, runs = (
        store.make_experiment(requests=2, bound_seconds=60, seed=1, policies=["naive", "banker"])
        for _ in range(2)
    )
    cancel_job(waits.job, by=None)
    assert run_job(waits.job_id) == NOT_WANTED

    with (
        patch.object(runner, "make_workload", return_value=crossing()),
        ThreadPoolExecutor(1) as thread,
    ):
        done = thread.submit(in_its_session, run_job, runs.job_id)
        wait_until(Process.objects.filter(is_waiting=True).exists)
        cancel_job(runs.job, by=None)
        assert done.result(30) == GONE

    pool = Pool.objects.get()  # the second policy was not begun
    assert pool.available == pool.capacity
    assert {row.state for row in Experiment.objects.all()} == {ExperimentState.CANCELLED}
    with pytest.raises(WrongState, match=f"Experiment {runs.pk} is cancelled already"):
        cancel_job(runs.job, by=None)


def test_unsafe_grants_are_counted_and_who_waits_for_growth_is_not_deadlocked():
    pool = create_pool(name="p", classes=CLASSES[:1], policy="naive")  # 4 units
    first, second = (
        register_process(pool=pool.pk, label=name, run_ref=name, maximum={"worker": 4})
        for name in "ab"
    )

    def ask(process, kind):
        return request_resources(
            process=process.pk,
            amounts={"worker": 2},
            request_id=uuid4(),
            kind=kind,
            epoch=None if kind == RequestKind.START else 1,
        )

    for process in (first, second):
        ask(process, RequestKind.START)
        take_lease(process=process.pk, epoch=1, worker="w")
    assert unsafe_grants(pool) == {first.pk: 0, second.pk: 1}

    ask(first, RequestKind.STAGE)
    assert not deadlocked_processes_of_pool(pool)
    ask(second, RequestKind.GROWTH)
    assert not deadlocked_processes_of_pool(pool)
    ask(second, RequestKind.STAGE)
    assert deadlocked_processes_of_pool(pool) == {first.pk, second.pk}
