"""Pauses and ends that no operator asked for, and the thresholds of an order that cause them."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Sum

from crawling.alerts.notify import notify_listeners
from crawling.alerts.wording import AlertEvent
from crawling.frontier.run_lock import locked_run
from crawling.models import Level, Run, RunCount
from crawling.models.archive import archive_disk
from crawling.models.jobs import WORKING_STATES, RunState
from crawling.orders.sections.thresholds import ThresholdsPart, too_little_room, too_many_errors
from crawling.run_log import write

MINUTE = timedelta(minutes=1)


def pause_by_itself(run_id: int, trouble: str) -> None:
    """Let a run rest that cannot go on, and say why until it is resumed. Safe to repeat."""
    _wind_down(run_id, RunState.PAUSING, trouble)


def stop_by_itself(run_id: int, trouble: str) -> None:
    """End a run that is not to go on, and say why. Safe to repeat."""
    _wind_down(run_id, RunState.STOPPING, trouble)


def _wind_down(run_id: int, to: RunState, trouble: str) -> None:
    with locked_run(run_id) as run:
        if run.state in WORKING_STATES:
            write(run_id, trouble, level=Level.ERROR)
            run.state, run.reason, run.trouble, run.keep_seconds = to, trouble, trouble, None
            run.save(update_fields=["state", "reason", "trouble", "keep_seconds"])
            notify_listeners(run, AlertEvent.TROUBLE, trouble)


def enforce_thresholds(run: Run, now: datetime) -> str:
    """Pause or stop the run if it has reached a threshold, and return the sentence that says so;
    empty: it goes on.

    The disk is that of the worker that asks, where the run's answers are kept.
    """
    part = ThresholdsPart(**run.crawl.thresholds)
    sentence = _errors(run, part, now) or _room(part)
    if sentence:
        wind_down = stop_by_itself if part.at_threshold == "stop" else pause_by_itself
        wind_down(run.pk, sentence)
    return sentence


def _errors(run: Run, part: ThresholdsPart, now: datetime) -> str:
    if part.max_error_percent is None:
        return ""
    since = now - part.error_minutes * MINUTE
    if run.resumed_at:
        # Counts are by the minute: that in which it went on may hold the errors for which it
        # rested.
        since = max(since, run.resumed_at.replace(second=0, microsecond=0) + MINUTE)
    sums = RunCount.objects.filter(run=run, minute__gte=since).aggregate(
        failed=Sum("failed", default=0), succeeded=Sum("succeeded", default=0)
    )
    failed = max(0, sums["failed"])  # what is tried again is taken off
    return too_many_errors(part, ended=failed + max(0, sums["succeeded"]), failed=failed)


def _room(part: ThresholdsPart) -> str:
    if part.min_free_bytes is None:
        return ""
    return too_little_room(
        part, free=shutil.disk_usage(archive_disk()).free, where=str(settings.ARCHIVE_DIR)
    )
