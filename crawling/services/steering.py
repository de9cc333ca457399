"""Pause, resume and stop a crawl's run."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils import timezone

from allocation.services import check_keep_seconds
from crawling.audit import note
from crawling.errors import WrongState
from crawling.frontier.locking import locked_run
from crawling.logbook import write
from crawling.models import CrawlJob, Run, Shift
from crawling.models.jobs import ENDED_STATES, RunState
from crawling.services.bank import ask_for_shifts, cancel_waiting
from crawling.services.shifts import settle_run

ALLOWED_FROM = {
    RunState.PAUSING: {RunState.QUEUED, RunState.RUNNING},
    RunState.QUEUED: {RunState.PAUSED, RunState.PAUSING},
    RunState.STOPPING: {RunState.QUEUED, RunState.RUNNING, RunState.PAUSING, RunState.PAUSED},
}
#: what an operator has done who asked for the state
DONE = {RunState.PAUSING: "paused", RunState.QUEUED: "resumed", RunState.STOPPING: "stopped"}
#: the word for each on a button
VERBS = {RunState.PAUSING: "pause", RunState.QUEUED: "resume", RunState.STOPPING: "stop"}


def possible(state: str) -> list[str]:
    """What may be done in a state as pages show it: of start, pause, resume and stop."""
    stored = RunState.QUEUED if state == "waiting" else state
    if stored == "draft" or stored in ENDED_STATES:
        return ["start"]
    return [verb for to, verb in VERBS.items() if stored in ALLOWED_FROM[to]]


def pause(crawl: CrawlJob, *, by: User | None = None, keep_seconds: float | None = None) -> Run:
    """Let the crawl rest after the fetches under way; its frontier stays, and what it holds is given back.

    With `keep_seconds` what it holds stays reserved so long, if that leaves everybody else safe when its shift ends;
    otherwise it is given back after all, and the run's log says why. Raises WrongState, BadKeepTime.
    """
    if keep_seconds is not None:
        check_keep_seconds(keep_seconds)
    return _wind_down(crawl, RunState.PAUSING, "Finishing the fetches under way before it pauses.", by, keep_seconds)


def stop(crawl: CrawlJob, *, by: User | None = None) -> Run:
    """End the run after the fetches under way; its pages are kept. Raises WrongState."""
    return _wind_down(crawl, RunState.STOPPING, "Finishing the fetches under way before it stops.", by)


def resume(crawl: CrawlJob, *, by: User | None = None) -> Run:
    """Go on where a paused run stood, with what is still reserved for it. Raises WrongState."""
    run = _move(crawl, RunState.QUEUED, "Asking the bank for a shift.", by)
    ask_for_shifts(run)
    return run


def _wind_down(crawl: CrawlJob, to: RunState, reason: str, by: User | None, keep_seconds: float | None = None) -> Run:
    run = _move(crawl, to, reason, by, keep_seconds)
    cancel_waiting(run)
    return settle_run(run.pk)


def _move(crawl: CrawlJob, to: RunState, reason: str, by: User | None, keep_seconds: float | None = None) -> Run:
    latest = crawl.runs.first()
    if latest is None:
        raise WrongState(f"{crawl.name} has never been started.")
    with locked_run(latest.pk) as run:
        if run.state not in ALLOWED_FROM[to]:
            possible = " or ".join(sorted(ALLOWED_FROM[to]))
            raise WrongState(f"{crawl.name} is {run.state} and cannot be {DONE[to]}; only a {possible} crawl can.")
        kept = {} if keep_seconds is None else {"keep_seconds": (None, keep_seconds)}
        note(by, crawl, DONE[to], {"state": (run.state, to), **kept})
        write(run.pk, f"{DONE[to].capitalize()} by {by or 'the command line'}.")
        if to == RunState.QUEUED:
            run.resumed_at = timezone.now()
        if to == RunState.QUEUED and Shift.objects.filter(process__run=run, ended_at=None).exists():
            to, reason = RunState.RUNNING, "Fetching."  # it was about to pause, and its shift may not even have noticed
        run.state, run.reason, run.keep_seconds, run.trouble = to, reason, keep_seconds, ""
        run.save(update_fields=["state", "reason", "keep_seconds", "trouble", "resumed_at"])
    return run
