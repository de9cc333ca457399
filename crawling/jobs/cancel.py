"""A user cancels a background job.

The row ends at once, so its job stores nothing more. A job that waits leaves the queue; the worker
of one that works ends it within seconds. The files and rows that either has left are removed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from redis.exceptions import RedisError

from crawling.base.audit import note
from crawling.base.errors import WrongState
from crawling.installation.permissions import is_administrator, require_act, require_own
from crawling.jobs.enqueue import jobs_of, request_job
from crawling.jobs.kinds import JobKind, job_kinds, kind_of, state_of
from crawling.jobs.removal import LEAVING, clear_job_files
from crawling.jobs.running import HELD_AS
from crawling.jobs.temporary_grant import release_orphaned_grant
from crawling.models import BackgroundJob, Run

UPKEEP = "This is work for the crawls of all: only administrators cancel it."
logger = logging.getLogger(__name__)

#: how long the scheduler looks after a job whose worker was killed as it was cancelled
LOOKED_AFTER = timedelta(minutes=5)


def cancel_job(job: BackgroundJob, *, by: User | None) -> BackgroundJob:
    """Cancel a job of any kind, for a user who may act on its crawl; of kinds that are of who has
    asked, for that user or an administrator. Raises PermissionDenied, and WrongState if it has
    ended.
    """
    _require(job, by)
    cancelled = cancel_jobs(BackgroundJob.objects.filter(pk=job.pk), by, tell_of(job, by))
    job.refresh_from_db()
    if not cancelled:
        raise WrongState(f"Job {job.pk} is {state_of(job)} already.")
    return job


def cancel_of_run(kind: JobKind, run: Run, *, by: User | None) -> BackgroundJob:
    """Cancel what a job of that kind is to make of a run, or of its crawl; the row that says so.

    Raises WrongState if there is nothing to cancel.
    """
    job = jobs_of(kind, run).filter(ended_at=None).select_related("run__crawl", "by").first()
    if job is None or not cancel_jobs(
        BackgroundJob.objects.filter(pk=job.pk), by, tell_of(job, by)
    ):
        raise WrongState(
            f"No job for the {kind.label} of run {run.number} waits or works: it has ended, or was "
            "cancelled before."
        )
    job.refresh_from_db()
    return job


def run_job_again(job: BackgroundJob, *, by: User | None) -> BackgroundJob:
    """Ask for another job like one that has failed, or was cancelled, for users who may cancel it.

    Raises PermissionDenied, and WrongState for jobs in other states.
    """
    kind = kind_of(job)
    _require(job, by)
    if job.state not in ("failed", "cancelled") or not kind.is_run_again:
        raise WrongState(
            f"Job {job.pk} is {job.state}: only a job that failed, or was cancelled, is run again, "
            "and a question of a page is asked again on its page."
        )
    same = BackgroundJob.objects.filter(kind=kind.name, spec=job.spec, run=job.run)
    if found := same.filter(ended_at=None, is_forgotten=False).first():
        return found
    again = request_job(kind, _run_of(kind, job), job.spec, by=by, subject=job.subject)
    if again.spec != job.spec:
        raise WrongState(f"Job {again.pk} does other work on the run; wait for its end.")
    return again


def _run_of(kind: JobKind, job: BackgroundJob) -> Run | None:
    """The run of a job; for a kind of which a crawl has one for all runs, the latest run now."""
    if job.run is None or not kind.is_of_crawl:
        return job.run
    return Run.objects.filter(crawl=job.run.crawl_id, is_latest=True).first() or job.run


def cancel_jobs(
    jobs: QuerySet[BackgroundJob], by: User | None, tell: Callable[[], None]
) -> list[BackgroundJob]:
    """End those that are open, and take them off the queue; which those were.

    tell: writes to the audit log, in the same transaction.
    """
    trouble = f"It was cancelled by {by or 'the command line'}."
    with transaction.atomic():
        rows = jobs.filter(ended_at=None, is_forgotten=False).order_by("pk")
        found = list(rows.select_for_update(of=("self",)))
        if found:
            BackgroundJob.objects.filter(pk__in=[job.pk for job in found]).update(
                cancelled_at=Now(), cancelled_by=by, ended_at=Now(), trouble=trouble, waits=""
            )
            tell()
    for job in found:
        clear_cancelled_job(job.pk)
    return found


def tell_of(job: BackgroundJob, by: User | None) -> Callable[[], None]:
    """Writes to the audit log, of its crawl if it has one, that it was cancelled."""
    if job.run is None or kind_of(job).is_of_asker:
        return partial(note, by, job, "cancelled")
    said = f"cancelled: {kind_of(job).label}"
    return partial(note, by, job.run.crawl, said, {"run": (None, job.run.number)})


def clear_cancelled_jobs() -> None:
    """Remove what jobs have left whose workers were killed as they were cancelled."""
    since = timezone.now() - LOOKED_AFTER
    recent = BackgroundJob.objects.filter(cancelled_at__gt=since, kind__in=job_kinds())
    for number in recent.values_list("pk", flat=True):
        clear_cancelled_job(number)


def is_cancelled(number: int) -> bool:
    """Whether a user has cancelled the job with that id."""
    return BackgroundJob.objects.filter(pk=number, cancelled_at__isnull=False).exists()


def clear_cancelled_job(number: int) -> bool:
    """Take the job off the queue and remove what it has left, unless a process is at it; whether
    that is done.
    """
    job = BackgroundJob.objects.filter(pk=number).first()
    if job is None:
        return True
    kind = kind_of(job)
    try:
        with kind.job.alone(number) as is_alone:
            if is_alone:
                release_orphaned_grant(HELD_AS.format(number))
                clear_job_files(kind, job)
                kind.job.withdraw(number)
            return is_alone
    except (RedisError, *LEAVING) as error:
        facts = {"job": str(job), "error": str(error)}
        logger.warning("what a cancelled job has left is not removed yet", extra=facts)
        return False


def _require(job: BackgroundJob, by: User | None) -> None:
    """Raises PermissionDenied."""
    if job.run is None and kind_of(job).is_upkeep:
        if not is_administrator(by):
            raise PermissionDenied(UPKEEP)
    elif job.run is None or kind_of(job).is_of_asker:
        require_own(by, job.by, f"{kind_of(job).label} {job.pk}")
    else:
        require_act(by, job.run.crawl)
