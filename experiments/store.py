"""The only writer of experiments and their requests; only `experiments.cancel` ends them, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Case, Value, When
from django.utils import timezone

from crawling.base.audit import note
from experiments.models import (
    Experiment,
    ExperimentKind,
    ExperimentOutcome,
    ExperimentRequest,
    ExperimentState,
)

GOING_ON = (ExperimentState.QUEUED, ExperimentState.RUNNING)
CANCELLED = ExperimentState.CANCELLED


@dataclass(frozen=True)
class AttemptResult:
    number: int
    attempt: int
    started_at: datetime
    ended_at: datetime
    waited_seconds: float
    outcome: ExperimentOutcome
    deadlocked: bool = False
    pages: int = 0
    deciding_seconds: float = 0.0
    unsafe_grants: int | None = None
    detail: str = ""
    round: int = 1


def make_experiment(
    *,
    requests: int,
    bound_seconds: float,
    seed: int,
    policies: Sequence[str],
    kind: str = ExperimentKind.THREADS,
    by: User | None = None,
) -> Experiment:
    with transaction.atomic():
        experiment = Experiment.objects.create(
            kind=kind,
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


def sign_of_life(experiment: Experiment) -> bool:
    """Say that it goes on; whether it may: no user has cancelled it."""
    going_on = Experiment.objects.filter(
        pk=experiment.pk, state=ExperimentState.RUNNING, cancelled_at=None
    )
    return going_on.update(seen_at=timezone.now()) == 1


def record(experiment: Experiment, policy: str, tried: AttemptResult) -> None:
    ExperimentRequest.objects.create(experiment=experiment, policy=policy, **asdict(tried))


def count_unsafe_grants(
    experiment: Experiment, policy: str, found: Mapping[tuple[int, int], int]
) -> None:
    """Store how many grants to each try, by number and attempt, were unsafe; to all others none."""
    tries = ExperimentRequest.objects.filter(experiment=experiment, policy=policy)
    with transaction.atomic():
        tries.update(unsafe_grants=0)
        for (number, attempt), units in found.items():
            if units:
                tries.filter(number=number, attempt=attempt).update(unsafe_grants=units)


def finish(experiment: Experiment) -> None:
    _end(experiment, ExperimentState.FINISHED)


def break_off(experiment: Experiment) -> None:
    """End an experiment that has not tried all. One that has ended stays as it is."""
    _end(experiment, ExperimentState.BROKEN_OFF)


def _end(experiment: Experiment, state: ExperimentState) -> None:
    """One that a user has cancelled is cancelled, however far it came."""
    ended = Case(When(cancelled_at=None, then=Value(state)), default=Value(CANCELLED))
    Experiment.objects.filter(pk=experiment.pk, state__in=GOING_ON).update(
        state=ended, finished_at=timezone.now()
    )
    experiment.refresh_from_db()
