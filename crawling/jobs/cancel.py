"""The cancellation of background jobs by users.

The row ends at once, so the job can store nothing more. A waiting job leaves the queue; a job at
work is ended by its worker within seconds, unless its kind ends itself. The files and rows that the
job has left are removed.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from redis.exceptions import RedisError

from crawling.base.audit import record_action
from crawling.base.errors import WrongState
from crawling.installation.permissions import is_administrator, require_act, require_own
from crawling.jobs.enqueue import jobs_of, request_job
from crawling.jobs.kinds import JobKind, JobScope, job_kinds, kind_of, state_of
from crawling.jobs.removal import LEAVING, clear_job_files
from crawling.jobs.running import HELD_AS
from crawling.jobs.temporary_grant import release_orphaned_grant
from crawling.models import BackgroundJob, Run

UPKEEP = "This is work for the crawls of all: only administrators cancel it."
logger = logging.getLogger(__name__)

#: the time for which the scheduler checks a cancelled job whose worker was killed
LOOKED_AFTER = timedelta(minutes=5)


def cancel_job(job: BackgroundJob, *, by: User | None) -> BackgroundJob:
    """Cancel a job of any kind, with the jobs requested together with it, for a user who may act on
    its crawl. A job of a kind that belongs to the requesting user can be cancelled only by that
    user and by administrators. Raises PermissionDenied, and WrongState if the job has ended.
    """
    _require_permission(job, by)
    jobs = BackgroundJob.objects.filter(pk__in={job.pk, *kind_of(job).asked_with(job)})
    trouble = f"It was cancelled by {by or 'the command line'}."
    with transaction.atomic():
        rows = jobs.filter(ended_at=None, is_forgotten=False).order_by("pk")
        found = [row.pk for row in rows.select_for_update(of=("self",))]
        if found:
            BackgroundJob.objects.filter(pk__in=found).update(
                cancelled_at=Now(), cancelled_by=by, ended_at=Now(), trouble=trouble, waits=""
            )
            _log_cancelling(job, by)
    for number in found:
        clear_cancelled_job(number)
    job.refresh_from_db()
    if not found:
        raise WrongState(f"{_job_name(job)} is {state_of(job)} already.")
    return job


def cancel_job_of_run(kind: JobKind, run: Run, *, by: User | None) -> BackgroundJob:
    """Cancel the job of this kind on a run or its crawl. Return the cancelled job's row.

    Raises PermissionDenied, and WrongState if there is nothing to cancel.
    """
    job = jobs_of(kind, run).filter(ended_at=None).select_related("run__crawl", "by").first()
    if job is None:
        raise WrongState(
            f"No job for the {kind.label} of run {run.number} waits or works: it has ended, or was "
            "cancelled before."
        )
    return cancel_job(job, by=by)


def run_job_again(job: BackgroundJob, *, by: User | None) -> BackgroundJob:
    """Request a job like one that has failed or was cancelled, for a user who may cancel such a
    job.

    Raises PermissionDenied, and WrongState for jobs in other states.
    """
    kind = kind_of(job)
    _require_permission(job, by)
    if job.state not in ("failed", "cancelled") or not kind.is_run_again:
        raise WrongState(
            f"Job {job.pk} is {job.state}: only a job that failed, or was cancelled, is run again, "
            "and a question of a page, or an experiment, is started again on its page."
        )
    same = BackgroundJob.objects.filter(kind=kind.name, spec=job.spec, run=job.run)
    if found := same.filter(ended_at=None, is_forgotten=False).first():
        return found
    again = request_job(kind, _run_of(kind, job), job.spec, by=by, subject=job.subject)
    if again.spec != job.spec:
        raise WrongState(f"Job {again.pk} does other work on the run; wait for its end.")
    return again


def _run_of(kind: JobKind, job: BackgroundJob) -> Run | None:
    """The run of a job. If the kind has one job for all runs of a crawl, the crawl's latest run."""
    if job.run is None or not kind.is_of_crawl:
        return job.run
    return Run.objects.filter(crawl=job.run.crawl_id, is_latest=True).first() or job.run


def _log_cancelling(job: BackgroundJob, by: User | None) -> None:
    """Write to the audit log, and to the log of the job's crawl if it has one, that the job was
    cancelled.
    """
    kind = kind_of(job)
    if job.run is None or kind.is_of_asker:
        record_action(by, kind.about(job), "cancelled")
    else:
        run = {"run": (None, job.run.number)}
        record_action(by, job.run.crawl, f"cancelled: {kind.label}", run)


def clear_cancelled_jobs() -> None:
    """Remove the files and rows left by cancelled jobs whose workers were killed."""
    since = timezone.now() - LOOKED_AFTER
    recent = BackgroundJob.objects.filter(cancelled_at__gt=since, kind__in=job_kinds())
    for number in recent.values_list("pk", flat=True):
        clear_cancelled_job(number)


def is_to_be_ended(number: int) -> bool:
    """Whether a user has cancelled the job with this id, so that its worker must end it."""
    job = BackgroundJob.objects.filter(pk=number, cancelled_at__isnull=False).first()
    return job is not None and not kind_of(job).ends_itself


def clear_cancelled_job(number: int) -> bool:
    """Take the job off the queue and remove the files and rows that it has left, unless a process
    works on it. Return whether nothing of it is left here.
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


def _job_name(job: BackgroundJob) -> str:
    """The name of a job in sentences: the name of its own page, if it has one."""
    kind = kind_of(job)
    own = kind.scope is JobScope.INSTALLATION or kind.is_of_asker
    return f"{kind.label.capitalize()} {kind.about(job).pk}" if own else f"Job {job.pk}"


def _require_permission(job: BackgroundJob, by: User | None) -> None:
    """Raises PermissionDenied."""
    kind = kind_of(job)
    if job.run is None and kind.is_upkeep:
        if not is_administrator(by):
            raise PermissionDenied(UPKEEP)
    elif job.run is None or kind.is_of_asker:
        require_own(by, job.by, f"{kind.label} {kind.about(job).pk}")
    else:
        require_act(by, job.run.crawl)
