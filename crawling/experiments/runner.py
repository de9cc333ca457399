"""Run a trial from its first policy to its last, here or as a background job."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

import django_rq
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections, transaction
from redis.exceptions import RedisError

from crawling.errors import CrawlError
from crawling.experiments import store
from crawling.experiments.policy_run import PolicyRun
from crawling.experiments.synthetic_web import serve_web
from crawling.experiments.workload import Workload, make_workload
from crawling.models.trials import Trial, TrialPolicy, TrialState

QUEUE = "background"
RUN_TRIAL = "crawling.experiments.runner.run_queued"
#: RQ ends a trial that goes on for so long
LONGEST_SECONDS = 60 * 60
#: what a door may be asked for, and the policies that means, in the order in which they are tried
CHOICES = {
    "both": (TrialPolicy.NAIVE, TrialPolicy.BANKER),
    **{str(policy): (policy,) for policy in TrialPolicy},
}
MOST_REQUESTS = 500
LEAST_BOUND_SECONDS, MOST_BOUND_SECONDS = 0.1, 120.0
MOST_SEED = 2**31 - 1
DEFAULT_REQUESTS, DEFAULT_BOUND_SECONDS, DEFAULT_SEED = 100, 8.0, 1


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


class NoBackgroundWorker(CrawlError):
    """Redis does not answer, so no worker can be told to run the trial; try again once it is
    back."""


def start_trial(*, policy: str, requests: int, bound_seconds: float, seed: int, by: User) -> Trial:
    """Make a trial and queue it. Raises NoBackgroundWorker."""
    trial = store.make_trial(
        requests=requests, bound_seconds=bound_seconds, seed=seed, policies=CHOICES[policy], by=by
    )
    transaction.on_commit(partial(_enqueue, trial))
    return trial


def _enqueue(trial: Trial) -> None:
    try:
        django_rq.get_queue(QUEUE).enqueue_call(
            RUN_TRIAL,
            args=(trial.pk,),
            job_id=f"trial-{trial.pk}",
            timeout=LONGEST_SECONDS,
            failure_ttl=settings.RQ_FAILED_JOBS_SECONDS,
        )
    except RedisError as error:
        store.break_off(trial)
        raise NoBackgroundWorker from error


def run_queued(trial_id: int) -> str:
    """What RQ runs. Harmless when run twice: only the first takes the trial up."""
    connections.close_all()  # a connection from before the fork belongs to the parent
    trial = Trial.objects.get(pk=trial_id)
    try:
        with interrupted_by_sigterm():
            return (
                f"{trial} is over"
                if run_trial(trial)
                else f"{trial} was not run: somebody else has it"
            )
    except KeyboardInterrupt:
        return f"{trial} was broken off"
