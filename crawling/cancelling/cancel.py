"""A user cancels what a user asked a background job for.

The row ends at once, so its job stores nothing more. A job that waits leaves the queue; the worker
of one that works ends it within seconds. What either has left is removed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from redis.exceptions import RedisError

from allocation.errors import AllocationError
from crawling.audit import note
from crawling.cancelling.kinds import (
    EXPERIMENTS,
    IMPORTS,
    KINDS,
    OF_RUNS,
    CancellableKind,
)
from crawling.dryrun.run_comparison import asked_together
from crawling.errors import ArchiveTrouble, NotFound, WrongState
from crawling.jobs.cancel import cancel_jobs, clear_cancelled_job, clear_cancelled_jobs
from crawling.jobs.cancel import cancel_of_run as cancel_job_of_run
from crawling.jobs.cancel import is_cancelled as is_job_cancelled
from crawling.jobs.kinds import job_kinds
from crawling.jobs.rq_jobs import RUN_JOB
from crawling.jobs.temporary_grant import release_orphaned_grant
from crawling.models import ArchiveImport, BackgroundJob, Inquiry, Run
from crawling.models.cancelling import Cancellable
from crawling.models.experiments import Experiment, ExperimentState
from crawling.teams.permissions import require_own

logger = logging.getLogger(__name__)

#: so long the scheduler looks after a job whose worker was killed as it was cancelled
LOOKED_AFTER = timedelta(minutes=5)


def cancel_of_run(run: Run, name: str, *, by: User | None) -> Cancellable:
    """Cancel what a job is to make of a run, or of its crawl; the row that says so.

    name: of the kind. Raises WrongState if there is nothing to cancel.
    """
    if name in job_kinds():
        return cancel_job_of_run(job_kinds()[name], run, by=by)
    kind = OF_RUNS[name]
    whose = Q(run__crawl=run.crawl_id) if kind.is_of_crawl else Q(run=run)
    rows = kind.rows.filter(whose)
    facts = {"run": (None, run.number)}
    if not _cancel(kind, rows, by, partial(note, by, run.crawl, f"cancelled: {kind.label}", facts)):
        raise WrongState(
            f"No job for the {kind.label} of run {run.number} waits or works: it has ended, or was "
            "cancelled before."
        )
    cancelled: Cancellable = rows.exclude(cancelled_at=None).latest("cancelled_at")
    return cancelled


def cancel_import(import_id: int, *, by: User | None) -> ArchiveImport:
    """Cancel an import, for the user who asked for it or an administrator.

    Raises NotFound, PermissionDenied, and WrongState if it has ended.
    """
    row = ArchiveImport.objects.select_related("by").filter(pk=import_id).first()
    if row is None:
        raise NotFound(f"There is no import {import_id}.")
    require_own(by, row.by, f"import {import_id}")
    rows = IMPORTS.rows.filter(pk=import_id)
    if not _cancel(IMPORTS, rows, by, partial(note, by, row, "cancelled")):
        row.refresh_from_db()
        remedy = "delete its crawl" if row.run_id else "it makes no crawl"
        raise WrongState(f"Import {import_id} is {row.state} already; {remedy}.")
    row.refresh_from_db()
    return row


def cancel_inquiry(inquiry: Inquiry, *, by: User | None) -> Inquiry:
    """Cancel an inquiry, with those that one page has asked together with it, for the user who
    asked or an administrator. Raises PermissionDenied, and WrongState if it has ended.
    """
    require_own(by, inquiry.by, f"inquiry {inquiry.pk}")
    rows = BackgroundJob.objects.filter(pk__in=asked_together(inquiry))
    if not cancel_jobs(rows, by, partial(note, by, inquiry, "cancelled")):
        inquiry.refresh_from_db()
        raise WrongState(f"Inquiry {inquiry.pk} is {inquiry.state} already.")
    inquiry.refresh_from_db()
    return inquiry


def cancel_experiment(experiment: Experiment, *, by: User | None) -> Experiment:
    """Cancel an experiment, for its maker or an administrator: what it has tried is kept.

    Raises PermissionDenied, and WrongState if it has ended.
    """
    require_own(by, experiment.by, str(experiment))
    rows = EXPERIMENTS.rows.filter(pk=experiment.pk)
    if not _end(EXPERIMENTS, rows, by, partial(note, by, experiment, "cancelled")):
        raise WrongState(f"{experiment} has ended, or was cancelled before.")
    experiment.refresh_from_db()
    if experiment.state == ExperimentState.CANCELLED:  # it waited
        _leave(EXPERIMENTS, experiment.pk)
    return experiment


def _cancel(
    kind: CancellableKind, rows: QuerySet[Any], by: User | None, tell: Callable[[], None]
) -> set[int]:
    """End those rows that are open, and take their jobs away; the numbers of the jobs."""
    numbers = _end(kind, rows, by, tell)
    for number in numbers:
        _leave(kind, number)
    return numbers


def _end(
    kind: CancellableKind, rows: QuerySet[Any], by: User | None, tell: Callable[[], None]
) -> set[int]:
    """End those rows that are open; the numbers of their jobs."""
    facts: dict[str, Any] = {"cancelled_at": Now(), "cancelled_by": by, **kind.ends}
    if any(column.name == "trouble" for column in kind.model._meta.fields):
        facts["trouble"] = f"It was cancelled by {by or 'the command line'}."
    with transaction.atomic():
        found = rows.filter(kind.is_open).order_by("pk").select_for_update(of=("self",))
        numbers = set(found.values_list("pk", flat=True))
        if numbers:
            kind.rows.filter(pk__in=numbers).update(**facts)
            tell()
    return numbers


def clear_cancelled() -> None:
    """Remove what jobs have left whose workers were killed as they were cancelled."""
    clear_cancelled_jobs()
    for kind in KINDS:
        recent = kind.rows.filter(cancelled_at__gt=timezone.now() - LOOKED_AFTER)
        for number in recent.values_list("pk", flat=True):
            _leave(kind, number)


def is_cancelled(function: str, number: int) -> bool:
    """Whether a user has cancelled what a job does."""
    if function == RUN_JOB:
        return is_job_cancelled(number)
    return any(
        kind.rows.filter(pk=number).exclude(cancelled_at=None).exists()
        for kind in KINDS
        if kind.job.function == function
    )


def clear_job(function: str, number: int) -> bool:
    """Remove what a job that is no more has left of what a user has cancelled; whether that is
    done.
    """
    if function == RUN_JOB:
        return clear_cancelled_job(number)
    return all(_leave(kind, number) for kind in KINDS if kind.job.function == function)


def _leave(kind: CancellableKind, number: int) -> bool:
    """Take the job off the queue and remove what it has left, unless a process is at it; whether
    that is done.
    """
    try:
        with kind.job.alone(number) as is_alone:
            if is_alone:
                if kind.held_as:
                    release_orphaned_grant(kind.held_as.format(number))
                kind.clear(number)
                kind.job.withdraw(number)
            return is_alone
    except (RedisError, OSError, ArchiveTrouble, AllocationError) as error:
        facts = {"job": kind.job.name, "number": number, "error": str(error)}
        logger.warning("what a cancelled job has left is not removed yet", extra=facts)
        return False
