"""Gives up jobs for which a user no longer waits, and removes old results."""

from __future__ import annotations

import logging

from django.utils import timezone

from crawling.jobs.job_rows import end_job, open_jobs
from crawling.jobs.kinds import JobKind, job_kinds
from crawling.jobs.removal import LEAVING, clear_job_files, delete_jobs, remove_deleted_jobs
from crawling.models import BackgroundJob

logger = logging.getLogger(__name__)


def end_and_delete_old_jobs() -> None:
    """Give up jobs that have not ended within the time of their kind, and remove jobs that are kept
    no longer. Safe to repeat.
    """
    for kind in job_kinds().values():
        if kind.within:
            _end_overdue_jobs(kind)
        if kind.kept:
            jobs, old = BackgroundJob.objects.filter(kind=kind.name), timezone.now() - kind.kept
            since = "asked_at__lt" if kind.within else "ended_at__lt"
            delete_jobs(jobs.filter(**{since: old}))
    remove_deleted_jobs()


def _end_overdue_jobs(kind: JobKind) -> None:
    assert kind.within
    late = open_jobs().filter(kind=kind.name, asked_at__lt=timezone.now() - kind.within)
    for job in late:
        end_job(job, trouble=kind.late)
        try:
            clear_job_files(kind, job)
        except LEAVING as error:  # the files are removed together with the row
            facts = {"job": str(job), "error": str(error)}
            logger.warning("what a job has left is not removed yet", extra=facts)
