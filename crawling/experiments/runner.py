"""Run a trial from its first policy to its last."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from crawling.experiments import store
from crawling.experiments.policy_run import PolicyRun
from crawling.experiments.synthetic_web import serve_web
from crawling.experiments.workload import Workload, make_workload
from crawling.models.trials import Trial, TrialState


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does: the trial is broken off in order, and gives back what it
    holds.
    """

    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run_trial(trial: Trial, workload: Workload | None = None) -> bool:
    """Run a trial that is queued, with its own workload unless another is given; False if somebody
    else has it.

    However this ends, the trial is marked finished or broken off, and nothing stays held.
    """
    if not store.start_trial_row(trial):
        return False
    workload = workload or make_workload(requests=trial.requests, seed=trial.seed)
    try:
        with serve_web() as web:
            for policy in trial.policies:
                PolicyRun(trial, policy, workload, web).run()
        store.finish(trial)
    finally:
        store.break_off(trial)
    return trial.state == TrialState.FINISHED
