"""The only writer of experiments and their requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from crawling.audit import note
from crawling.models.experiments import (
    Experiment,
    ExperimentOutcome,
    ExperimentRequest,
    ExperimentState,
)


@dataclass(frozen=True)
class AttemptResult:
    """What became of one try at a request."""

    number: int
    attempt: int
    started_at: datetime
    ended_at: datetime
    waited_seconds: float
    outcome: ExperimentOutcome
    deadlocked: bool = False
    pages: int = 0
    deciding_seconds: float = 0.0
    detail: str = ""


def make_experiment(
    *,
    requests: int,
    bound_seconds: float,
    seed: int,
    policies: Sequence[str],
    by: User | None = None,
) -> Experiment:
    with transaction.atomic():
        experiment = Experiment.objects.create(
            requests=requests,
            bound_seconds=bound_seconds,
            seed=seed,
            policies=list(policies),
            by=by,
        )
        note(by, experiment, "start")
    return experiment


def start_experiment_row(experiment: Experiment) -> bool:
    """Take an experiment up. True for the first to do so; anyone else must not run it."""
    now = timezone.now()
    return (
        Experiment.objects.filter(pk=experiment.pk, state=ExperimentState.QUEUED).update(
            state=ExperimentState.RUNNING, started_at=now, seen_at=now
        )
        == 1
    )


def sign_of_life(experiment: Experiment) -> None:
    Experiment.objects.filter(pk=experiment.pk, state=ExperimentState.RUNNING).update(
        seen_at=timezone.now()
    )


def record(experiment: Experiment, policy: str, tried: AttemptResult) -> None:
    ExperimentRequest.objects.create(experiment=experiment, policy=policy, **asdict(tried))


def finish(experiment: Experiment) -> None:
    _end(experiment, ExperimentState.FINISHED)


def break_off(experiment: Experiment) -> None:
    """End an experiment that was stopped. One that has ended stays as it is."""
    _end(experiment, ExperimentState.BROKEN_OFF)


def _end(experiment: Experiment, state: ExperimentState) -> None:
    going_on = Q(state__in=[ExperimentState.QUEUED, ExperimentState.RUNNING])
    Experiment.objects.filter(going_on, pk=experiment.pk).update(
        state=state, finished_at=timezone.now()
    )
    experiment.refresh_from_db()
