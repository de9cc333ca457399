"""A user cancels an import or a question by its own address, or an experiment. All jobs of the one
table can be cancelled by `crawling.jobs.cancel`, too.
"""

from __future__ import annotations

import logging
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Case, F, Value, When
from django.db.models.functions import Now
from redis.exceptions import RedisError

from crawling.base.audit import note
from crawling.base.errors import NotFound, WrongState
from crawling.installation.permissions import require_own
from crawling.jobs.cancel import cancel_jobs
from crawling.jobs.kinds import state_of
from crawling.jobs.rq_jobs import EXPERIMENT
from crawling.models import BackgroundJob, Inquiry
from crawling.models.experiments import Experiment, ExperimentState
from crawling.previews.run_comparison import asked_together
from crawling.uses.imports.jobs import imports_asked_for

logger = logging.getLogger(__name__)


def cancel_import(import_id: int, *, by: User | None) -> BackgroundJob:
    """Cancel an import, for the user who asked for it or an administrator.

    Raises NotFound, PermissionDenied, and WrongState if it has ended.
    """
    row: BackgroundJob | None = imports_asked_for().filter(pk=import_id).first()
    if row is None:
        raise NotFound(f"There is no import {import_id}.")
    require_own(by, row.by, f"import {import_id}")
    jobs = BackgroundJob.objects.filter(pk=import_id)
    cancelled = cancel_jobs(jobs, by, partial(note, by, row, "cancelled"))
    row.refresh_from_db()
    if not cancelled:
        remedy = "delete its crawl" if row.run_id else "it makes no crawl"
        raise WrongState(f"Import {import_id} is {state_of(row)} already; {remedy}.")
    return row


def cancel_inquiry(inquiry: Inquiry, *, by: User | None) -> Inquiry:
    """Cancel an inquiry, with those that one page has asked together with it, for the user who
    asked or an administrator. Raises PermissionDenied, and WrongState if it has ended.
    """
    require_own(by, inquiry.by, f"inquiry {inquiry.pk}")
    jobs = BackgroundJob.objects.filter(pk__in=asked_together(inquiry))
    cancelled = cancel_jobs(jobs, by, partial(note, by, inquiry, "cancelled"))
    inquiry.refresh_from_db()
    if not cancelled:
        raise WrongState(f"Inquiry {inquiry.pk} is {inquiry.state} already.")
    return inquiry


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
