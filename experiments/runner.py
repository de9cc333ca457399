"""The run of an experiment by turns of its policies, here or as a background job."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from django.db import connections
from django.utils import timezone

from experiments import store
from experiments.attempt import ExperimentStopped
from experiments.crawl_workload import WORKERS, plan_crawls
from experiments.models import (
    Experiment,
    ExperimentKind,
    ExperimentState,
)
from experiments.policy_run import PolicyRun
from experiments.report import state_of
from experiments.shift_run import ShiftPolicyRun, clear_up
from experiments.shift_workers import running_workers
from experiments.synthetic_web import serve_web
from experiments.workload import Workload, make_workload, rounds


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C: the experiment is broken off in order, and gives back what it
    holds.
    """

    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run_experiment(experiment: Experiment, workload: Workload | None = None) -> bool:
    """Run an experiment that is queued, with its own workload unless another is given; False if
    another worker has it, or if it was stopped.

    However this ends, the experiment is marked finished or broken off, and nothing stays held.
    Crawls that cannot be removed in time are removed later by the scheduler.
    """
    if not store.start_experiment_row(experiment):
        return False
    end = store.break_off
    try:
        if experiment.kind == ExperimentKind.SHIFTS:
            _run_shifts(experiment)
        else:
            _run_threads(experiment, workload)
        end = store.finish
    except ExperimentStopped:
        pass
    finally:
        if clear_up(experiment):
            end(experiment)
    return experiment.state == ExperimentState.FINISHED


def _run_threads(experiment: Experiment, workload: Workload | None) -> None:
    workload = workload or make_workload(requests=experiment.requests, seed=experiment.seed)
    with serve_web() as web:
        runs: dict[str, PolicyRun] = {}
        for number, policy, jobs in rounds(workload.jobs, experiment.policies):
            if policy not in runs:
                runs[policy] = PolicyRun(experiment, policy, workload, web)
            runs[policy].run(number, jobs)


def _run_shifts(experiment: Experiment) -> None:
    """The crawls are aborted and removed while their workers can end the shifts."""
    workload = plan_crawls(crawls=experiment.requests, seed=experiment.seed)
    with running_workers(WORKERS) as workers:
        try:
            runs: dict[str, ShiftPolicyRun] = {}
            for number, policy, sites in rounds(workload.sites, experiment.policies):
                if policy not in runs:
                    runs[policy] = ShiftPolicyRun(experiment, policy, workload, workers)
                runs[policy].run(number, sites)
        finally:
            clear_up(experiment)


def run_queued(experiment_id: int) -> str:
    """RQ calls this function. Harmless when run twice: only the first takes the experiment up, and
    what a killed one has left is removed.
    """
    connections.close_all()  # a connection from before the fork belongs to the parent
    experiment = Experiment.objects.get(pk=experiment_id)
    if state_of(experiment, timezone.now())[0] != experiment.state:
        if clear_up(experiment):
            store.break_off(experiment)
        return f"{experiment} had lost its process; what it left is removed"
    try:
        with interrupted_by_sigterm():
            return (
                f"{experiment} is over"
                if run_experiment(experiment)
                else f"{experiment} was not run: another process runs it"
            )
    except KeyboardInterrupt:
        return f"{experiment} was broken off"
