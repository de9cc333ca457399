"""The questions about a new experiment, for its page and for the command line."""

from __future__ import annotations

from django import forms

from crawling.experiments.runner import (
    DEFAULT_BOUND_SECONDS,
    DEFAULT_REQUESTS,
    DEFAULT_SEED,
    LEAST_BOUND_SECONDS,
    MOST_BOUND_SECONDS,
    MOST_REQUESTS,
    MOST_SEED,
)
from crawling.models.experiments import ExperimentPolicy


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
        help_text="The paper made 100 for each policy.",
    )
    bound_seconds = forms.FloatField(
        label="Bound in seconds",
        min_value=LEAST_BOUND_SECONDS,
        max_value=MOST_BOUND_SECONDS,
        initial=DEFAULT_BOUND_SECONDS,
        help_text="A request that waits longer is locked. The paper's was 120; pages here "
        "answer in a fifth of a second.",
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=MOST_SEED,
        initial=DEFAULT_SEED,
        help_text="The same seed makes the same requests.",
    )
