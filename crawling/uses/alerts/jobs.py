"""The background jobs that send due deliveries and write weekly summaries. The scheduler requests
them, and finds lasting states that listeners must be alerted of.
"""

from __future__ import annotations

from django.utils import timezone
from redis.exceptions import RedisError

from crawling.jobs.enqueue import request_job
from crawling.jobs.kinds import (
    KEPT_DAY,
    KEPT_HOUR,
    JobEffect,
    JobEvent,
    JobKind,
    JobResult,
    JobScope,
)
from crawling.jobs.rq_jobs import IDLE, is_user_waiting
from crawling.jobs.running_job import RunningJob
from crawling.uses.alerts.listeners import delete_removed_listeners
from crawling.uses.alerts.models import Delivery
from crawling.uses.alerts.notify import enabled_listeners, raise_ongoing_alerts
from crawling.uses.alerts.weekly import add_due_summaries, due_summaries


def _send_due(job: RunningJob) -> JobResult:
    # modules that connect to servers are imported only where they are needed
    from crawling.uses.alerts.delivery import send_due_deliveries

    return {"tried": send_due_deliveries(goes_on=_may_continue)}


def _may_continue() -> bool:
    """Whether no user waits for this worker; a slow receiver would delay that user."""
    try:
        return not is_user_waiting()
    except RedisError:
        return True


SENDING = JobKind(
    name="alerts",
    label="sending of alerts",
    done="done",
    work=_send_due,
    # the result is a number; messages are separate rows
    effects=dict.fromkeys(JobEvent, JobEffect.KEEP),
    seconds=15 * 60,
    scope=JobScope.INSTALLATION,
    kept=KEPT_HOUR,
)
SUMMING = JobKind(
    name="weekly-summaries",
    label="weekly summaries",
    done="done",
    work=lambda job: {"left": add_due_summaries()},
    effects=dict.fromkeys(JobEvent, JobEffect.KEEP),  # the result is a number; deliveries are rows
    seconds=15 * 60,
    queue=IDLE,
    scope=JobScope.INSTALLATION,
    kept=KEPT_DAY,
)
KINDS = (SENDING, SUMMING)


def request_sending() -> None:
    """Request one job for all due deliveries, unless one is open."""
    due = Delivery.objects.filter(next_try_at__lte=timezone.now())
    # the second question costs six times the first, which is asked all day
    if due.exists() and due.filter(listener__in=enabled_listeners()).exists():
        request_job(SENDING, None, by=None, subject="due")


def write_due_summaries() -> None:
    """Request one job for all listeners whose week has ended, unless one is open."""
    if next(due_summaries(timezone.now()), None):
        request_job(SUMMING, None, by=None, subject="due")


#: alerts are sent in an idle installation, too, but none of its states begins there
DUTIES = (
    (raise_ongoing_alerts, 10.0),
    (write_due_summaries, 60.0),
    (request_sending, 5.0, 0.0),
    (delete_removed_listeners, 600.0),
)
