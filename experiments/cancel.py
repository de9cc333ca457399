"""A user cancels an experiment."""

from __future__ import annotations

import logging

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Case, F, Value, When
from django.db.models.functions import Now
from redis.exceptions import RedisError

from crawling.base.audit import note
from crawling.base.errors import WrongState
from crawling.installation.permissions import require_own
from experiments.jobs import EXPERIMENT
from experiments.models import Experiment, ExperimentState

logger = logging.getLogger(__name__)


def cancel_experiment(experiment: Experiment, *, by: User | None) -> Experiment:
    """Cancel an experiment, for its maker or an administrator: what it has tried is kept. One that
    runs looks itself, as it may need half a minute to delete its crawls in order.

    Raises PermissionDenied, and WrongState if it has ended.
    """
    require_own(by, experiment.by, str(experiment))
    waits = When(state=ExperimentState.QUEUED, then=Value(ExperimentState.CANCELLED))
    ended = When(state=ExperimentState.QUEUED, then=Now())
    is_open = Experiment.objects.filter(
        pk=experiment.pk,
        state__in=(ExperimentState.QUEUED, ExperimentState.RUNNING),
        cancelled_at=None,
    )
    with transaction.atomic():
        if not is_open.update(
            cancelled_at=Now(),
            cancelled_by=by,
            finished_at=Case(ended, default=F("finished_at")),
            state=Case(waits, default=F("state")),
        ):
            raise WrongState(f"{experiment} has ended, or was cancelled before.")
        note(by, experiment, "cancelled")
    experiment.refresh_from_db()
    if experiment.state == ExperimentState.CANCELLED:  # it waited
        _leave_queue(experiment)
    return experiment


def _leave_queue(experiment: Experiment) -> None:
    try:
        with EXPERIMENT.alone(experiment.pk) as is_alone:
            if is_alone:
                EXPERIMENT.withdraw(experiment.pk)
    except RedisError as error:  # its job finds it cancelled
        facts = {"experiment": experiment.pk, "error": str(error)}
        logger.warning("a cancelled job is queued still", extra=facts)
