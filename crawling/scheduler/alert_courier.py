"""Wake the worker of the chores when listeners are to be told."""

from __future__ import annotations

from datetime import timedelta

import django_rq
from django.conf import settings
from django.utils import timezone
from rq.exceptions import DuplicateJobError
from rq.job import Job, JobStatus

from crawling.models import Delivery
from crawling.scheduler.stale_jobs import remove, waits

QUEUE = "chores"
SEND_DUE = "crawling.alerts.delivery.send_due_deliveries"
JOB = "alerts"
LONGEST_SECONDS = 15 * 60
#: a worker says every half minute that its job goes on; RQ itself looks for those that were lost
#: every ten minutes
SILENT = timedelta(seconds=90)


def wake_courier() -> None:
    """Queue one job for all that is due, if none waits or works already."""
    if not Delivery.objects.filter(next_try_at__lte=timezone.now(), listener__is_on=True).exists():
        return
    queue = django_rq.get_queue(QUEUE)
    job = queue.fetch_job(JOB)
    if job is not None:
        if waits(queue, job) or _is_in_hand(job):
            return
        remove(job)  # left over from a worker that was killed
    try:
        queue.enqueue_call(
            SEND_DUE,
            job_id=JOB,
            unique=True,
            timeout=LONGEST_SECONDS,
            result_ttl=0,
            failure_ttl=settings.RQ_FAILED_JOBS_SECONDS,
        )
    except DuplicateJobError:
        return  # somebody else was faster


def _is_in_hand(job: Job) -> bool:
    """Whether a worker that lives is at it."""
    status, heard_at = job.get_status(), job.last_heartbeat
    return (
        status == JobStatus.STARTED and heard_at is not None and timezone.now() - heard_at < SILENT
    )
