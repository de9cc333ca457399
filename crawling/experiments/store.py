"""The only writer of experiments and their requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from crawling.audit import note
from crawling.errors import WrongState
from crawling.models.experiments import (
    Experiment,
    ExperimentKind,
    ExperimentOutcome,
    ExperimentRequest,
    ExperimentState,
)
from crawling.teams.permissions import is_restricted

GOING_ON = (ExperimentState.QUEUED, ExperimentState.RUNNING)


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
    """Say that it goes on; whether it may: no user has stopped it."""
    going_on = Experiment.objects.filter(
        pk=experiment.pk, state=ExperimentState.RUNNING, stop_asked_at=None
    )
    return going_on.update(seen_at=timezone.now()) == 1


@transaction.atomic
def may_stop(experiment: Experiment, by: User | None) -> bool:
    """Whether a user who may make experiments, or the command line (None), may stop this one."""
    return experiment.by in (None, by) or not is_restricted(by)


def ask_to_stop(experiment: Experiment, *, by: User | None) -> None:
    """Let its process stop it; one that is queued ends at once. Raises WrongState, and
    PermissionDenied where operators stop their own only.
    """
    if not may_stop(experiment, by):
        raise PermissionDenied(
            f"{experiment.by} made this experiment: its maker stops it, or an administrator."
        )
    going_on = Experiment.objects.filter(pk=experiment.pk, state__in=GOING_ON, stop_asked_at=None)
    if not going_on.update(stop_asked_at=timezone.now()):
        raise WrongState(f"{experiment} has ended or is being stopped already.")
    Experiment.objects.filter(pk=experiment.pk, state=ExperimentState.QUEUED).update(
        state=ExperimentState.BROKEN_OFF, finished_at=timezone.now()
    )
    note(by, experiment, "stop")
    experiment.refresh_from_db()


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
    """End an experiment that was stopped. One that has ended stays as it is."""
    _end(experiment, ExperimentState.BROKEN_OFF)


def _end(experiment: Experiment, state: ExperimentState) -> None:
    Experiment.objects.filter(pk=experiment.pk, state__in=GOING_ON).update(
        state=state, finished_at=timezone.now()
    )
    experiment.refresh_from_db()
