"""Ask for the jobs that are due though no user has asked for them: the scheduler's part."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.utils import timezone

from crawling.jobs.enqueue import ask_job
from crawling.jobs.job_rows import open_jobs
from crawling.jobs.kinds import DueJob, JobKind, job_kinds
from crawling.models import BackgroundJob, Run

#: so long after a job of a kind has failed there is no other for the same subject
PAUSE = timedelta(hours=1)


def ask_for_due_jobs() -> None:
    """Ask for a job for each subject that is due and has none. Safe to repeat."""
    for kind in job_kinds().values():
        due = list(kind.due()) if kind.due else []
        if due:
            taken = _taken(kind, {one.subject for one in due})
            for one in due:
                if one.subject not in taken:
                    ask_due_job(kind, one)


def ask_unless_taken(kind: JobKind, due: DueJob) -> None:
    """Ask for a job, unless one is open for its subject or has failed just now."""
    if not _taken(kind, {due.subject}):
        ask_due_job(kind, due)


def ask_due_job(kind: JobKind, due: DueJob) -> BackgroundJob | None:
    """Ask for one; None: its run is deleted."""
    run = None
    if due.run is not None:
        run = Run.objects.filter(pk=due.run).first()
        if run is None:
            return None
    return ask_job(kind, run, due.spec, by=None, subject=due.subject)


def _taken(kind: JobKind, subjects: Collection[str]) -> set[str]:
    """Those that have an open job, or one that has failed just now."""
    mine = BackgroundJob.objects.filter(kind=kind.name, subject__in=subjects, is_forgotten=False)
    failed = mine.filter(ended_at__gt=timezone.now() - PAUSE).exclude(trouble="")
    is_open = open_jobs().filter(kind=kind.name, subject__in=subjects)
    return {*failed.values_list("subject", flat=True), *is_open.values_list("subject", flat=True)}
