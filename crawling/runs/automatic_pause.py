"""A pause, or an end, that no operator asked for."""

from __future__ import annotations

from crawling.alerts.notify import notify_listeners
from crawling.alerts.wording import AlertEvent
from crawling.frontier.run_lock import locked_run
from crawling.models import Level
from crawling.models.jobs import WORKING_STATES, RunState
from crawling.run_log import write


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
