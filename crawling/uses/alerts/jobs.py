"""The job of a background worker that sends due deliveries. The scheduler wakes that worker, and
finds lasting states to alert of.
"""

from __future__ import annotations

import django_rq
from django.conf import settings
from django.utils import timezone
from rq.exceptions import DuplicateJobError

from crawling.jobs.rq_jobs import BACKGROUND, is_in_hand, remove, waits
from crawling.uses.alerts.models import Delivery
from crawling.uses.alerts.notify import raise_ongoing_alerts

SEND_DUE = "crawling.uses.alerts.delivery.send_due_deliveries"
ALERT_JOB = "alerts"
LONGEST_SECONDS = 15 * 60
FUNCTIONS = (SEND_DUE,)


def wake_courier() -> None:
    """Queue one job for all that is due, if none waits or works already. Raises RedisError."""
    if not Delivery.objects.filter(next_try_at__lte=timezone.now(), listener__is_on=True).exists():
        return
    queue = django_rq.get_queue(BACKGROUND)
    job = queue.fetch_job(ALERT_JOB)
    if job is not None:
        if waits(queue, job) or is_in_hand(job):
            return
        remove(job)  # left over from a worker that was killed
    try:
        queue.enqueue_call(
            SEND_DUE,
            job_id=ALERT_JOB,
            unique=True,
            timeout=LONGEST_SECONDS,
            result_ttl=0,
            failure_ttl=settings.RQ_FAILED_JOBS_SECONDS,
        )
    except DuplicateJobError:
        return  # another process was faster


DUTIES = ((raise_ongoing_alerts, 10.0), (wake_courier, 5.0))
