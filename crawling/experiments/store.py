"""The only writer of trials and their requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from crawling.audit import note
from crawling.models.trials import Trial, TrialOutcome, TrialRequest, TrialState


@dataclass(frozen=True)
class AttemptResult:
    """What became of one try at a request."""

    number: int
    attempt: int
    started_at: datetime
    ended_at: datetime
    waited_seconds: float
    outcome: TrialOutcome
    deadlocked: bool = False
    pages: int = 0
    detail: str = ""


def make_trial(
    *,
    requests: int,
    bound_seconds: float,
    seed: int,
    policies: Sequence[str],
    by: User | None = None,
) -> Trial:
    with transaction.atomic():
        trial = Trial.objects.create(
            requests=requests,
            bound_seconds=bound_seconds,
            seed=seed,
            policies=list(policies),
            by=by,
        )
        note(by, trial, "start")
    return trial


def start_trial_row(trial: Trial) -> bool:
    """Take a trial up. True for the first to do so; anyone else must not run it."""
    now = timezone.now()
    return (
        Trial.objects.filter(pk=trial.pk, state=TrialState.QUEUED).update(
            state=TrialState.RUNNING, started_at=now, seen_at=now
        )
        == 1
    )


def sign_of_life(trial: Trial) -> None:
    Trial.objects.filter(pk=trial.pk, state=TrialState.RUNNING).update(seen_at=timezone.now())


def record(trial: Trial, policy: str, tried: AttemptResult) -> None:
    TrialRequest.objects.create(trial=trial, policy=policy, **asdict(tried))


def finish(trial: Trial) -> None:
    _end(trial, TrialState.FINISHED)


def break_off(trial: Trial) -> None:
    """End a trial that was stopped. One that has ended stays as it is."""
    _end(trial, TrialState.BROKEN_OFF)


def _end(trial: Trial, state: TrialState) -> None:
    going_on = Q(state__in=[TrialState.QUEUED, TrialState.RUNNING])
    Trial.objects.filter(going_on, pk=trial.pk).update(state=state, finished_at=timezone.now())
    trial.refresh_from_db()
