"""An experiment at work: real threads, each with its own connection, real pages, the real bank."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from django_rq import get_queue

from allocation.models import Conservation, OutboxKind, Pool, Process, ProcessState
from allocation.services import unsent_outbox
from crawling.base.errors import WrongState
from crawling.jobs.running import NOT_WANTED, run_in_this_process, run_job
from crawling.scheduler.messages import deliver_messages
from experiments import runner, store
from experiments.models import ExperimentOutcome, ExperimentRequest, ExperimentState
from experiments.report import experiment_view
from experiments.workload import PAGES, Workload, WorkloadJob, WorkloadStep

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

A, B, BOTH = (1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0)
#: three pages of the slowest kind: by far longer than another thread takes to begin
LONG = (3, 16, 29)


def crossing(*others: WorkloadJob) -> Workload:
    """Two requests that take the same two units in opposite order, each holding one while it asks
    for the other.

    The second one asks later, so that its wait is not over the bound when the first one gives up.
    """
    jobs = (
        WorkloadJob(1, BOTH, (WorkloadStep(A, LONG), WorkloadStep(B, LONG))),
        WorkloadJob(2, BOTH, (WorkloadStep(B, LONG + LONG), WorkloadStep(A, LONG))),
    )
    return Workload((1, 1, 1, 1), jobs + others, at_a_time=2 + len(others))


def run(workload, *policies, bound_seconds=1.0):
    experiment = store.make_experiment(
        requests=len(workload.jobs), bound_seconds=bound_seconds, seed=1, policies=policies
    )
    with patch.object(runner, "make_workload", return_value=workload):
        run_in_this_process(experiment.job)
    columns = experiment_view(experiment).columns
    every_unit_is_back(columns)
    return columns


def every_unit_is_back(columns):
    """The pools stay, to be looked at."""
    pools = [Pool.objects.get(pk=column.pool) for column in columns]
    assert all(pool.available == pool.capacity for pool in pools)
    assert not Process.objects.filter(state=ProcessState.ACTIVE).exists()
    assert not [row for row in Conservation.objects.all() if row.difference or row.ungranted]


def test_plain_requests_that_cross_lock_each_other_and_are_tried_again_after_the_others():
    (plain,) = run(crossing(), "naive")

    first, second = plain.entries
    assert (first.label, first.deadlocked, first.in_the_end) == (
        "Locked:Request1",
        True,
        ExperimentOutcome.COMPLETED,
    )
    assert first.waited_seconds >= 1.0
    assert first.retries >= 1
    assert (second.label, second.deadlocked, second.retries) == ("Completed:Request2", False, 0)
    assert plain.unsafe_grants >= 1, "the second unit was granted although both could be stuck"


@pytest.mark.parametrize("policy", ["banker", "all_at_once"])
def test_the_same_requests_never_lock_where_units_are_dealt_out_safely(policy):
    get_queue("shifts").empty()  # other tests may have left something
    (column,) = run(crossing(), policy, bound_seconds=20.0)

    assert [entry.label for entry in column.entries] == ["Completed:Request1", "Completed:Request2"]
    assert (column.locked, column.deadlocked, column.pages) == (0, 0, 15)
    assert column.unsafe_grants == 0
    assert OutboxKind.START in {message.kind for message in unsent_outbox()}
    deliver_messages()
    assert get_queue("shifts").count == 0  # the scheduler makes no shifts of threads


def test_breaches_of_the_claim_and_crashes_are_classed_apart():
    breach = WorkloadJob(
        3, (0, 0, 1, 0), (WorkloadStep((0, 0, 1, 0), ()), WorkloadStep((0, 0, 1, 0), ()))
    )
    crash = WorkloadJob(4, (0, 0, 0, 1), (WorkloadStep((0, 0, 0, 1), (PAGES,)),))

    (column,) = run(Workload((1, 1, 1, 1), (breach, crash), at_a_time=2), "banker")

    assert [entry.outcome for entry in column.entries] == [
        ExperimentOutcome.BREACH,
        ExperimentOutcome.CRASHED,
    ]
    assert "More was requested" in column.entries[0].detail
    assert "404" in column.entries[1].detail
    assert (column.locked, column.breaches, column.crashes) == (0, 1, 1)


@pytest.mark.drill
def test_a_drawn_workload_is_tried_whole_and_the_banker_deadlocks_nobody():
    experiment = store.make_experiment(
        requests=10, bound_seconds=1.0, seed=7, policies=["naive", "banker"]
    )

    run_in_this_process(experiment.job)

    plain, banker = experiment_view(experiment).columns
    assert (
        [entry.number for entry in plain.entries]
        == [entry.number for entry in banker.entries]
        == list(range(1, 11))
    )
    assert banker.deadlocked == 0
    assert experiment.state == ExperimentState.FINISHED
    assert ExperimentRequest.objects.filter(experiment=experiment, attempt=1).count() == 20


def test_an_experiment_is_run_once():
    experiment = store.make_experiment(requests=1, bound_seconds=1.0, seed=1, policies=["banker"])

    run_in_this_process(experiment.job)

    assert run_job(experiment.job_id) == NOT_WANTED
    with pytest.raises(WrongState):
        run_in_this_process(experiment.job)
