"""The questions about a new experiment, for its page and for the command line; and its run from the
first policy to the last, here or as a background job.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

from django import forms
from django.contrib.auth.models import User
from django.db import connections, transaction
from redis.exceptions import RedisError

from crawling.errors import CrawlError
from crawling.experiments import store
from crawling.experiments.policy_run import PolicyRun
from crawling.experiments.synthetic_web import serve_web
from crawling.experiments.workload import Workload, make_workload
from crawling.models.experiments import Experiment, ExperimentPolicy, ExperimentState
from crawling.rq_jobs import EXPERIMENT

#: what a door may be asked for, and the policies that means, in the order in which they are tried
CHOICES = {
    "both": (ExperimentPolicy.NAIVE, ExperimentPolicy.BANKER),
    "searches": (
        ExperimentPolicy.BANKER,
        ExperimentPolicy.FULL_SCOPE,
        ExperimentPolicy.RECURSIVE,
        ExperimentPolicy.UNCOVERED,
    ),
    **{str(policy): (policy,) for policy in ExperimentPolicy},
}
MOST_REQUESTS = 500
LEAST_BOUND_SECONDS, MOST_BOUND_SECONDS = 0.1, 120.0
MOST_SEED = 2**31 - 1
DEFAULT_REQUESTS, DEFAULT_BOUND_SECONDS, DEFAULT_SEED = 100, 8.0, 1


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
    another worker has it.

    However this ends, the experiment is marked finished or broken off, and nothing stays held.
    """
    if not store.start_experiment_row(experiment):
        return False
    workload = workload or make_workload(requests=experiment.requests, seed=experiment.seed)
    try:
        with serve_web() as web:
            for policy in experiment.policies:
                PolicyRun(experiment, policy, workload, web).run()
        store.finish(experiment)
    finally:
        store.break_off(experiment)
    return experiment.state == ExperimentState.FINISHED


class NoBackgroundWorker(CrawlError):
    """Redis does not answer, so no worker can be told to run the experiment; try again once it is
    back."""


def start_experiment(
    *, policy: str, requests: int, bound_seconds: float, seed: int, by: User
) -> Experiment:
    """Make an experiment and queue it. Raises NoBackgroundWorker."""
    experiment = store.make_experiment(
        requests=requests, bound_seconds=bound_seconds, seed=seed, policies=CHOICES[policy], by=by
    )
    transaction.on_commit(partial(_enqueue, experiment))
    return experiment


def _enqueue(experiment: Experiment) -> None:
    try:
        EXPERIMENT.enqueue(experiment.pk)
    except RedisError as error:
        store.break_off(experiment)
        raise NoBackgroundWorker from error


def run_queued(experiment_id: int) -> str:
    """What RQ runs. Harmless when run twice: only the first takes the experiment up."""
    connections.close_all()  # a connection from before the fork belongs to the parent
    experiment = Experiment.objects.get(pk=experiment_id)
    try:
        with interrupted_by_sigterm():
            return (
                f"{experiment} is over"
                if run_experiment(experiment)
                else f"{experiment} was not run: another process runs it"
            )
    except KeyboardInterrupt:
        return f"{experiment} was broken off"


class ExperimentForm(forms.Form):
    """How the experiment is to be."""

    policy = forms.ChoiceField(
        label="Policy",
        choices=[
            ("both", "plain, then Banker's"),
            ("searches", "Banker's, each search"),
            *ExperimentPolicy.choices,
        ],
        help_text="Each policy gets the same requests, and a pool of its own.",
    )
    requests = forms.IntegerField(
        label="Requests",
        min_value=1,
        max_value=MOST_REQUESTS,
        initial=DEFAULT_REQUESTS,
        help_text="The paper had 100 for each policy.",
    )
    bound_seconds = forms.FloatField(
        label="Time limit in seconds",
        min_value=LEAST_BOUND_SECONDS,
        max_value=MOST_BOUND_SECONDS,
        initial=DEFAULT_BOUND_SECONDS,
        help_text="A request that waits longer is locked. The paper had 120; pages here "
        "answer in a fifth of a second.",
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=MOST_SEED,
        initial=DEFAULT_SEED,
        help_text="The same seed makes the same requests.",
    )
