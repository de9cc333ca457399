"""Request background jobs, and find requested ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from crawling.archive.files import this_machine
from crawling.base.errors import WrongState
from crawling.jobs.job_rows import job_file_prefix, open_jobs, visible_jobs
from crawling.jobs.kinds import JobKind, JobScope
from crawling.models import BackgroundJob, Run

#: attempts to open a job; the job that prevents it may end before it is read
TRIES = 5


def request_job(
    kind: JobKind,
    run: Run | None,
    spec: Mapping[str, Any] | None = None,
    *,
    by: User | None,
    subject: str | None = None,
) -> BackgroundJob:
    """Request that a worker does a job. If a job for the same run or crawl is open, it is returned
    unchanged. Without Redis the scheduler queues the job later.

    subject: as for `open_job`.
    """
    with transaction.atomic():
        job = open_job(kind, run, spec, by=by, subject=subject)
        transaction.on_commit(partial(kind.job.ask, job.pk))
    return job


def open_job(
    kind: JobKind,
    run: Run | None,
    spec: Mapping[str, Any] | None = None,
    *,
    by: User | None,
    subject: str | None = None,
) -> BackgroundJob:
    """Open a job for a command that does the work itself (`running.work_here`).

    subject: at most one job at a time is open for a subject; "" allows any number, and with None
    the kind determines the subject. Raises WrongState if the run is deleted.
    """
    subject = _usual_subject(kind, run) if subject is None else subject
    row = BackgroundJob(kind=kind.name, run=run, subject=subject, spec=dict(spec or {}), by=by)
    if kind.has_files:
        row.name, row.machine = job_file_prefix(kind.name, run.pk if run else 0), this_machine()
    if not subject:
        row.save()
        return row
    open_ones = BackgroundJob.objects.filter(kind=kind.name, subject=subject, ended_at=None)
    # otherwise a job of a crawl would stay open until its run is restored or permanently deleted
    open_ones.filter(run__removal_asked_at__isnull=False).update(is_forgotten=True)
    seen = open_jobs().select_related("run__crawl").filter(kind=kind.name, subject=subject)
    for _ in range(TRIES):
        BackgroundJob.objects.bulk_create([row], ignore_conflicts=True)
        if found := seen.first():
            return found
    raise WrongState("The run was deleted meanwhile.")


def jobs_of(kind: JobKind, run: Run) -> QuerySet[BackgroundJob]:
    """The jobs for a run, or for its crawl if the kind has one job a crawl, the latest first."""
    found = visible_jobs().filter(kind=kind.name)
    whose = {"run__crawl": run.crawl_id} if kind.is_of_crawl else {"run": run}
    return found.filter(**whose)


def _usual_subject(kind: JobKind, run: Run | None) -> str:
    if run is None or kind.scope is JobScope.INSTALLATION:
        return ""
    return f"crawl {run.crawl_id}" if kind.is_of_crawl else f"run {run.pk}"
