"""The fields for a new experiment, for its page, JSON and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db import transaction

from crawling.base.errors import BadOrder, CrawlError
from crawling.scheduler.leader import has_leader
from experiments import store
from experiments.jobs import EXPERIMENT
from experiments.models import (
    Experiment,
    ExperimentKind,
    ExperimentPolicy,
)

#: the choices on the page, in JSON and on the command line, with the policies that each means, in
#: the order in which they run
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
#: the number of crawls in an experiment on shifts
DEFAULT_CRAWLS, MOST_CRAWLS = 8, 40


class NoScheduler(CrawlError):
    """No scheduler runs, so no shift would begin; start it (`make run` does), and try again."""


def make_checked_experiment(
    *,
    policy: str,
    requests: int | None,
    bound_seconds: float,
    seed: int,
    kind: str = ExperimentKind.THREADS,
    by: User | None = None,
) -> Experiment:
    """Make an experiment; if requests is None, it has the usual number of its kind.

    Raises BadOrder, NoScheduler.
    """
    if mistakes := shift_mistakes(kind, policy, requests):
        raise BadOrder(mistakes)
    if kind == ExperimentKind.SHIFTS and not has_leader():
        raise NoScheduler
    usual = DEFAULT_CRAWLS if kind == ExperimentKind.SHIFTS else DEFAULT_REQUESTS
    return store.make_experiment(
        kind=kind,
        requests=usual if requests is None else requests,
        bound_seconds=bound_seconds,
        seed=seed,
        policies=CHOICES[policy],
        by=by,
    )


def shift_mistakes(kind: str, policy: str, requests: int | None) -> dict[str, str]:
    """The settings that an experiment on shifts cannot have, with a sentence for each field."""
    if kind != ExperimentKind.SHIFTS:
        return {}
    mistakes = {}
    if policy == ExperimentPolicy.ALL_AT_ONCE:
        mistakes["policy"] = (
            "A work session begins with less than its claim, so these cannot request all at once. "
            "Choose another policy, or threads."
        )
    if requests is not None and requests > MOST_CRAWLS:
        mistakes["requests"] = f"Each is a crawl. Enter {MOST_CRAWLS} or fewer, or choose threads."
    return mistakes


def start_experiment(*, by: User, **asked: Any) -> Experiment:
    """Make an experiment and queue it, with arguments and errors of `make_checked_experiment`."""
    experiment = make_checked_experiment(by=by, **asked)
    transaction.on_commit(partial(EXPERIMENT.job.ask, experiment.job_id))
    return experiment


def policies_in_words(policies: Sequence[str]) -> str:
    """The choice that gives these policies; empty if none does."""
    given = tuple(policies)
    return next((name for name, means in CHOICES.items() if means == given), "")


class ExperimentForm(forms.Form):
    kind = forms.ChoiceField(
        label="Made by",
        choices=ExperimentKind.choices,
        initial=ExperimentKind.THREADS,
        required=False,
        help_text="Work sessions are those of real crawls on sites of this machine. The experiment "
        "starts workers for them, and deletes the crawls at its end.",
    )
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
        required=False,
        help_text=f"Empty: {DEFAULT_REQUESTS} for each policy as in the paper, or "
        f"{DEFAULT_CRAWLS} crawls, of which there are {MOST_CRAWLS} at most.",
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

    def clean(self) -> dict[str, Any]:
        """Refuse settings that an experiment on shifts cannot have."""
        asked: dict[str, Any] = super().clean() or {}
        asked["kind"] = asked.get("kind") or ExperimentKind.THREADS
        mistakes = shift_mistakes(asked["kind"], asked.get("policy", ""), asked.get("requests"))
        for field, sentence in mistakes.items():
            self.add_error(field, sentence)
        return asked
