"""Pause, resume and stop a crawl's run."""

from __future__ import annotations

from crawling.errors import WrongState
from crawling.frontier.locking import locked_run
from crawling.models import CrawlJob, Run
from crawling.models.jobs import RunState
from crawling.services.bank import ask_for_shifts, cancel_waiting
from crawling.services.shifts import settle_run

ALLOWED_FROM = {
    RunState.PAUSING: {RunState.QUEUED, RunState.RUNNING},
    RunState.QUEUED: {RunState.PAUSED, RunState.PAUSING},
    RunState.STOPPING: {RunState.QUEUED, RunState.RUNNING, RunState.PAUSING, RunState.PAUSED},
}


def pause(crawl: CrawlJob) -> Run:
    """Give back everything the crawl holds, after the fetches under way, and keep its frontier. Raises WrongState."""
    return _wind_down(crawl, RunState.PAUSING, "Finishing the fetches under way before it pauses.")


def stop(crawl: CrawlJob) -> Run:
    """End the run after the fetches under way; its pages are kept. Raises WrongState."""
    return _wind_down(crawl, RunState.STOPPING, "Finishing the fetches under way before it stops.")


def resume(crawl: CrawlJob) -> Run:
    """Go on where a paused run stood. Raises WrongState."""
    run = _move(crawl, RunState.QUEUED, "Asking the bank for a shift.")
    ask_for_shifts(run)
    return run


def _wind_down(crawl: CrawlJob, to: RunState, reason: str) -> Run:
    run = _move(crawl, to, reason)
    cancel_waiting(run)
    return settle_run(run.pk)


def _move(crawl: CrawlJob, to: RunState, reason: str) -> Run:
    latest = crawl.runs.first()
    if latest is None:
        raise WrongState(f"{crawl.name} has never been started.")
    with locked_run(latest.pk) as run:
        if run.state not in ALLOWED_FROM[to]:
            wanted = {RunState.PAUSING: "paused", RunState.QUEUED: "resumed", RunState.STOPPING: "stopped"}[to]
            possible = " or ".join(sorted(ALLOWED_FROM[to]))
            raise WrongState(f"{crawl.name} is {run.state} and cannot be {wanted}; only a {possible} crawl can.")
        run.state, run.reason = to, reason
        run.save(update_fields=["state", "reason"])
    return run
