"""The background job that sends due deliveries. The scheduler asks for it, and finds lasting states
to alert of, and weeks that have ended.
"""

from __future__ import annotations

from django.utils import timezone

from crawling.jobs.enqueue import request_job
from crawling.jobs.kinds import KEPT_HOUR, JobEffect, JobEvent, JobKind, JobResult, JobScope
from crawling.jobs.running_job import RunningJob
from crawling.uses.alerts.models import Delivery
from crawling.uses.alerts.notify import raise_ongoing_alerts
from crawling.uses.alerts.weekly import leave_summaries


def _work(job: RunningJob) -> JobResult:
    # what speaks to servers is imported by those who need it
    from crawling.uses.alerts.delivery import send_due

    return {"tried": send_due()}


SENDING = JobKind(
    name="alerts",
    label="sending of alerts",
    done="done",
    work=_work,
    # it has a count; messages are rows of their own
    effects=dict.fromkeys(JobEvent, JobEffect.KEEP),
    seconds=15 * 60,
    scope=JobScope.INSTALLATION,
    kept=KEPT_HOUR,
)
KINDS = (SENDING,)


def wake_courier() -> None:
    """Ask for one job for all that is due, unless one is open."""
    if Delivery.objects.filter(next_try_at__lte=timezone.now(), listener__is_on=True).exists():
        request_job(SENDING, None, by=None, subject="due")


DUTIES = ((raise_ongoing_alerts, 10.0), (leave_summaries, 60.0), (wake_courier, 5.0))
