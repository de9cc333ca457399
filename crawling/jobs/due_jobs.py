"""Requests the jobs that are due without a user's request, for the scheduler."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from crawling.base.errors import CrawlError
from crawling.jobs.enqueue import request_job
from crawling.jobs.kinds import DueJob, JobKind, job_kinds
from crawling.jobs.running import GONE
from crawling.models import BackgroundJob, Run

logger = logging.getLogger(__name__)

#: the time after a failed job during which no other job is requested for the same subject
PAUSE = timedelta(hours=1)
#: the time after a job that did not fail during which no other is requested, so that another
#: machine can do the work that is still due
REST = timedelta(seconds=30)
#: the most jobs of a kind that are requested at a time; the others wait for the next time
MOST_AT_ONCE = 100


def request_due_jobs() -> None:
    """Request a job for each subject that is due and has none. Safe to repeat."""
    for kind in job_kinds().values():
        due = list(kind.due()) if kind.due else []
        taken = _subjects_not_due(kind, {one.subject for one in due}) if due else set()
        for one in [one for one in due if one.subject not in taken][:MOST_AT_ONCE]:
            try:
                request_due_job(kind, one)
            except CrawlError as error:
                facts = {"kind": kind.name, "subject": one.subject, "error": str(error)}
                logger.warning("a job that is due cannot be asked for", extra=facts)


def request_unless_taken(
    kind: JobKind, due: DueJob, *, rest: timedelta = REST
) -> BackgroundJob | None:
    """Request a job, unless one for the same subject is open, has ended within `rest`, or has
    failed within PAUSE.
    """
    return None if _subjects_not_due(kind, {due.subject}, rest) else request_due_job(kind, due)


def request_due_job(kind: JobKind, due: DueJob) -> BackgroundJob | None:
    """Request a due job. None if its run is deleted."""
    run = None
    if due.run is not None:
        run = Run.objects.filter(pk=due.run).first()
        if run is None:
            return None
    return request_job(kind, run, due.spec, by=None, subject=due.subject)


def _subjects_not_due(kind: JobKind, subjects: Collection[str], rest: timedelta = REST) -> set[str]:
    """The subjects with an open job, or with a job that has ended too recently."""
    now = timezone.now()
    failed = Q(ended_at__gt=now - PAUSE) & ~Q(trouble__in=("", GONE))
    ended = Q(ended_at__gt=now - rest) | failed
    mine = BackgroundJob.objects.filter(kind=kind.name, subject__in=subjects, is_forgotten=False)
    is_open = Q(ended_at=None, run__removal_asked_at=None)
    return set(mine.filter(is_open | ended).values_list("subject", flat=True))
