"""An operator's decisions on patterns that look like traps."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User

from crawling.base.audit import record_action
from crawling.base.errors import WrongState
from crawling.frontier import locked_run
from crawling.frontier.admit.quarantine import approve_pattern, ban_pattern
from crawling.installation.run_log import write
from crawling.models import CrawlJob, Run, TrapPattern
from crawling.models.jobs import ENDED_STATES, WORKING_STATES, RunState
from crawling.orders.scope.trap_gate import TrapState
from crawling.runs.grants import register_processes, request_shifts


def approve_trap(crawl: CrawlJob, key: int, *, by: User | None = None) -> int:
    """Approve a pattern, and queue its quarantined URLs. Return their number.

    A run that had ended continues with them.

    Raises WrongState if the latest run has no such pattern, is stopping, or the pattern is approved
    already.
    """
    return _decide_pattern(crawl, key, TrapState.APPROVED, approve_pattern, by)


def ban_trap(crawl: CrawlJob, key: int, *, by: User | None = None) -> int:
    """Ban a pattern, and exclude all of its URLs that were not fetched yet. Return their number.

    Raises WrongState as `approve_trap` does.
    """
    return _decide_pattern(crawl, key, TrapState.BANNED, ban_pattern, by)


def _decide_pattern(
    crawl: CrawlJob,
    key: int,
    to: TrapState,
    decide: Callable[[Run, TrapPattern], int],
    by: User | None,
) -> int:
    latest = crawl.runs.first()
    pattern = TrapPattern.objects.filter(run=latest, key=key).first() if latest else None
    if latest is None or pattern is None:
        raise WrongState(f"{crawl.name} has no pattern {key}.")
    with locked_run(latest.pk) as run:
        pattern.refresh_from_db()
        if pattern.state == to:
            raise WrongState(f"{pattern.pattern} is {to} already.")
        if run.state == RunState.STOPPING:
            raise WrongState(f"{crawl.name} is stopping; judge its patterns once it has stopped.")
        before, count = pattern.state, decide(run, pattern)
        record_action(by, crawl, f"{to} a pattern", {pattern.pattern: (before, to.value)})
        write(run.pk, f"{pattern.pattern} {to} by {by or 'the command line'}: {count:,} URLs.")
        if count and to is TrapState.APPROVED and run.state in ENDED_STATES:
            run.state, run.reason = (
                RunState.QUEUED,
                "Waiting for a worker, to fetch what was approved.",
            )
            run.finished_at = run.aborted_at = None
            run.save(update_fields=["state", "reason", "finished_at", "aborted_at"])
    if run.state in WORKING_STATES:
        register_processes(run)
        request_shifts(run)
    return count
