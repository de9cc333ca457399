"""Pause, resume, stop and abort a crawl's run. Also the automatic pauses and ends, with the
thresholds of an order that cause them.
"""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Sum
from django.utils import timezone

from allocation.services import check_keep_seconds
from allocation.wording import joined_in_words
from crawling.base.alert_events import AlertEvent
from crawling.base.audit import record_action
from crawling.base.errors import WrongState
from crawling.frontier import counts_of, limit_reached, locked_run
from crawling.frontier.run_limits import ReachedLimit, reached_limit
from crawling.installation.events import alert
from crawling.installation.run_log import write
from crawling.models import CrawlJob, Level, Run, RunCount, Shift
from crawling.models.archive import archive_disk
from crawling.models.jobs import ENDED_STATES, WORKING_STATES, RunState
from crawling.orders.sections.thresholds import (
    ThresholdsPart,
    disk_threshold_sentence,
    error_threshold_sentence,
)
from crawling.runs.grants import cancel_waiting, register_processes, request_shifts
from crawling.runs.shift_lifecycle import settle_run
from crawling.runs.transitions import (
    ACTIONS,
    FETCHING,
    RunAction,
    loss_sentence,
    start_loss_sentence,
)

#: the columns of a run that an action may change
MOVED = (
    "state",
    "reason",
    "keep_seconds",
    "trouble",
    "resumed_at",
    "aborted_at",
    "finished_at",
)
MINUTE = timedelta(minutes=1)


def pause(crawl: CrawlJob, *, by: User | None = None, keep_seconds: float | None = None) -> Run:
    """Pause the crawl after the fetches under way. Its frontier stays, and its units are released.

    With `keep_seconds` its units stay reserved for that time if the pool's state is safe with the
    reservation when its shift ends; otherwise they are released, and the run's log says why. Raises
    WrongState or BadKeepTime.
    """
    if keep_seconds is not None:
        check_keep_seconds(keep_seconds)
        if crawl.idle_only:
            raise WrongState(
                f"{crawl.name} uses idle capacity only, so nothing is reserved for it; pause it "
                "without a time."
            )
    return _wind_down(
        crawl, "pause", "Finishing the fetches under way before it pauses.", by, keep_seconds
    )


def stop(crawl: CrawlJob, *, by: User | None = None) -> Run:
    """End the run after the fetches under way. Its pages and its queue are kept.

    Raises WrongState.
    """
    return _wind_down(crawl, "stop", "Finishing the fetches under way before it stops.", by)


def abort(crawl: CrawlJob, *, by: User | None = None) -> Run:
    """End the run and cut off its fetches. Answers that are not recorded yet are lost.

    Raises WrongState.
    """
    return _wind_down(crawl, "abort", "Cutting off the fetches under way.", by)


def resume(crawl: CrawlJob, *, by: User | None = None) -> Run:
    """Continue the latest run: a paused run with the units that are still reserved for it, an ended
    run with the URLs left in its queue.

    A crash after the change of state loses nothing: the scheduler does the rest. Raises WrongState.
    """
    run = _change_state(crawl, "resume", "Waiting for a worker.", by)
    register_processes(run)
    request_shifts(run)
    return run


def blocking_limit(crawl: CrawlJob) -> ReachedLimit | None:
    """The limit without which the latest run, which has ended, could be resumed."""
    run = crawl.runs.first()
    if run is None or run.state not in ENDED_STATES:
        return None
    return reached_limit(run) if run.queues.filter(queued__gt=0).exists() else None


def reopen(run: Run, reason: str) -> None:
    """Let an ended run continue with URLs that were put into its queue. The caller holds the run's
    lock, and registers the run's processes afterwards.
    """
    run.state, run.reason, run.finished_at = RunState.QUEUED, reason, None
    run.resumed_at, run.aborted_at, run.trouble = timezone.now(), None, ""
    run.save(update_fields=MOVED)


def confirmation_question(crawl: CrawlJob, word: str) -> str:
    """The question by which a user confirms one of the actions in CONFIRMED, and what is kept and
    lost; empty if nothing needs a confirmation. Raises WrongState.
    """
    run = crawl.runs.first()
    if run is None:
        if word == "start":
            return ""
        raise WrongState(f"{crawl.name} has never been started.")
    counts = counts_of([run.pk])[run.pk]
    if word == "start":
        is_cut = run.state == RunState.STOPPED and counts.queued
        return start_loss_sentence(number=run.number, queued=counts.queued) if is_cut else ""
    _check_action(crawl, run, ACTIONS[word])
    return loss_sentence(word, queued=counts.queued, in_hand=counts.in_process)


def _wind_down(
    crawl: CrawlJob, word: str, reason: str, by: User | None, keep_seconds: float | None = None
) -> Run:
    run = _change_state(crawl, word, reason, by, keep_seconds)
    cancel_waiting(run)
    return settle_run(run.pk)


def _change_state(
    crawl: CrawlJob, word: str, reason: str, by: User | None, keep_seconds: float | None = None
) -> Run:
    action = ACTIONS[word]
    to = action.to
    latest = crawl.runs.first()
    if latest is None:
        raise WrongState(f"{crawl.name} has never been started.")
    with locked_run(latest.pk) as run:
        _check_action(crawl, run, action)
        if word == "resume" and run.state in ENDED_STATES:
            _check_pause_is_over(run)
        kept = {} if keep_seconds is None else {"keep_seconds": (None, keep_seconds)}
        record_action(by, crawl, action.done, {"state": (run.state, to), **kept})
        write(run.pk, f"{action.done.capitalize()} by {by or 'the command line'}.")
        if to == RunState.QUEUED:
            run.resumed_at = timezone.now()
        if to == RunState.QUEUED and Shift.objects.filter(process__run=run, ended_at=None).exists():
            # the run was about to pause, and its shift may not have noticed yet
            to, reason = RunState.RUNNING, FETCHING
        run.state, run.reason, run.keep_seconds, run.trouble = to, reason, keep_seconds, ""
        run.aborted_at = timezone.now() if word == "abort" else None
        run.finished_at = None
        run.save(update_fields=MOVED)
    return run


def _check_action(crawl: CrawlJob, run: Run, action: RunAction) -> None:
    if run.state not in action.allowed_from:
        states = joined_in_words(sorted(action.allowed_from), last="or")
        raise WrongState(
            f"{crawl.name} is {run.state} and cannot be {action.done}; only a {states} crawl can."
        )
    if run.aborted_at and run.state == RunState.STOPPING:
        raise WrongState(f"{crawl.name} is being aborted already.")


def _check_pause_is_over(run: Run) -> None:
    """Raise WrongState unless an ended run may continue and has URLs left."""
    if not run.queues.filter(queued__gt=0).exists():
        raise WrongState(
            f"{run.crawl.name} is {run.state} with an empty queue, so there is nothing to resume; "
            "start a new run."
        )
    if sentence := limit_reached(run):
        raise WrongState(f"{sentence} Raise that limit, then resume the run.")


def pause_for_trouble(run_id: int, trouble: str) -> None:
    """Pause a run that cannot continue, and show the reason until it is resumed. Safe to repeat."""
    _wind_down_for_trouble(run_id, RunState.PAUSING, trouble)


def stop_for_trouble(run_id: int, trouble: str) -> None:
    """End a run that must not continue, and show the reason. Safe to repeat."""
    _wind_down_for_trouble(run_id, RunState.STOPPING, trouble)


def _wind_down_for_trouble(run_id: int, to: RunState, trouble: str) -> None:
    with locked_run(run_id) as run:
        if run.state in WORKING_STATES:
            write(run_id, trouble, level=Level.ERROR)
            run.state, run.reason, run.trouble, run.keep_seconds = to, trouble, trouble, None
            run.save(update_fields=["state", "reason", "trouble", "keep_seconds"])
            alert(run, AlertEvent.TROUBLE, trouble)


def enforce_thresholds(run: Run, now: datetime) -> str:
    """Pause or stop the run if it has reached a threshold. Return the reason as a sentence, empty
    if the run continues.

    The disk is that of the calling worker, where the run's answers are stored.
    """
    part = run.crawl.order.thresholds
    sentence = _error_threshold_reached(run, part, now) or _disk_trouble(part)
    if sentence:
        wind_down = stop_for_trouble if part.at_threshold == "stop" else pause_for_trouble
        wind_down(run.pk, sentence)
    return sentence


def _error_threshold_reached(run: Run, part: ThresholdsPart, now: datetime) -> str:
    if part.max_error_percent is None:
        return ""
    since = now - part.error_minutes * MINUTE
    if run.resumed_at:
        # Counts are by minute. The minute in which the run was resumed is left out, since it may
        # hold the errors for which the run was paused.
        since = max(since, run.resumed_at.replace(second=0, microsecond=0) + MINUTE)
    sums = RunCount.objects.filter(run=run, minute__gte=since).aggregate(
        failed=Sum("failed", default=0), succeeded=Sum("succeeded", default=0)
    )
    failed = max(0, sums["failed"])  # a retry subtracts its failure from the count
    return error_threshold_sentence(part, ended=failed + max(0, sums["succeeded"]), failed=failed)


def _disk_trouble(part: ThresholdsPart) -> str:
    if part.min_free_bytes is None:
        return ""
    return disk_threshold_sentence(
        part, free=shutil.disk_usage(archive_disk()).free, where=str(settings.ARCHIVE_DIR)
    )
