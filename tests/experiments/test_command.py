"""`manage.py deadlock_trial`: what it prints, stores, and leaves behind when it is killed."""

from __future__ import annotations

import json
import signal
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from allocation.models import Pool, Process
from allocation.services import reap_expired
from experiments.models import Experiment, ExperimentRequest, ExperimentState
from experiments.report import SILENT, state_of
from tests.stack import running_stack, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def printed(*words: str) -> str:
    out = StringIO()
    call_command("deadlock_trial", *words, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_it_prints_the_three_tables_of_the_paper():
    text = printed("--requests", "3", "--bound-seconds", "0.5", "--seed", "2")

    for words in (
        "Table 1. plain requests",
        "Table 2. Banker's algorithm",
        "Table 3.",
        ":Request3",
        "deadlocked",
        "unsafe",
        "does not show under which policy requests wait less",
    ):
        assert words in " ".join(text.split())


def test_programs_get_one_object_and_the_rows_say_the_same():
    told = json.loads(
        printed("--requests", "3", "--policy", "all_at_once", "--seed", "2", "--json")
    )

    assert (told["state"], told["policies"], told["seed"]) == ("finished", ["all_at_once"], 2)
    (result,) = told["results"]
    assert (result["requests_done"], result["locked"], len(result["requests"])) == (3, 0, 3)
    stored = ExperimentRequest.objects.filter(experiment=told["id"]).values_list(
        "waited_seconds", flat=True
    )
    assert result["waited_seconds"] == pytest.approx(sum(stored))


def test_wrong_numbers_are_told_at_once_and_make_no_experiment():
    with pytest.raises(CommandError) as told:
        printed("--requests", "0", "--bound-seconds", "soon")

    assert "requests: " in str(told.value)
    assert "bound_seconds: " in str(told.value)
    assert not Experiment.objects.exists()


@pytest.mark.drill
def test_an_experiment_that_is_told_to_stop_gives_everything_back_and_says_so(tmp_path):
    with running_stack(tmp_path) as stack:
        process = stack.start(["deadlock_trial", "--requests", "20", "--bound-seconds", "60"])
        wait_until(
            lambda: Process.objects.filter(holding=True, worker__startswith="experiment").exists()
        )
        process.send_signal(signal.SIGTERM)
        status = process.wait(10)
    pool = Pool.objects.get()

    assert status == 1
    assert Experiment.objects.get().state == ExperimentState.BROKEN_OFF
    assert pool.available == pool.capacity
    assert "broken off" in (tmp_path / "stack.log").read_text()


@pytest.mark.drill
def test_a_killed_experiment_is_shown_as_broken_off_and_its_units_come_back_when_the_leases_run_out(
    tmp_path,
):
    with running_stack(tmp_path, BANK_LEASE_SECONDS="7", BANK_PICKUP_SECONDS="7") as stack:
        process = stack.start(["deadlock_trial", "--requests", "20", "--bound-seconds", "1"])
        wait_until(
            lambda: Process.objects.filter(holding=True, worker__startswith="experiment").exists()
        )
        process.send_signal(signal.SIGKILL)
        process.wait()
    experiment = Experiment.objects.get()
    assert state_of(experiment, experiment.job.heartbeat_at)[0] == ExperimentState.RUNNING
    assert (
        state_of(experiment, experiment.job.heartbeat_at + SILENT + timedelta(seconds=1))[0]
        == ExperimentState.BROKEN_OFF
    )

    def all_is_back() -> bool:
        reap_expired()
        pool = Pool.objects.get()
        return pool.available == pool.capacity

    wait_until(all_is_back)
