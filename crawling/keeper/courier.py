"""Wake the worker of the chores when listeners are to be told."""

from __future__ import annotations

import django_rq
from django.utils import timezone
from rq.exceptions import DuplicateJobError
from rq.job import JobStatus

from crawling.models import Delivery

QUEUE = "chores"
SEND_DUE = "crawling.services.sending.send_due_deliveries"
JOB = "alerts"
LONGEST_SECONDS = 15 * 60


def wake_courier() -> None:
    """Queue one job for all that is due, if none waits or works already."""
    if not Delivery.objects.filter(next_try_at__lte=timezone.now(), listener__is_on=True).exists():
        return
    queue = django_rq.get_queue(QUEUE)
    job = queue.fetch_job(JOB)
    if job is not None:
        if job.get_status() in (JobStatus.QUEUED, JobStatus.STARTED):
            return
        job.delete()  # left over from a worker that was killed
    try:
        queue.enqueue_call(SEND_DUE, job_id=JOB, unique=True, timeout=LONGEST_SECONDS, result_ttl=0)
    except DuplicateJobError:
        return  # somebody else was faster
