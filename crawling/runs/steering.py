"""Pause, resume, stop and abort a crawl's run."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.utils import timezone

from allocation.services import check_keep_seconds
from crawling.audit import note
from crawling.errors import WrongState
from crawling.frontier.run_lock import locked_run
from crawling.models import CrawlJob, Run, Shift
from crawling.models.jobs import ENDED_STATES, RunState
from crawling.run_log import write
from crawling.runs.grants import ask_for_shifts, cancel_waiting
from crawling.runs.shift_lifecycle import settle_run


@dataclass(frozen=True, slots=True)
class RunAction:
    """What an operator may do to a run."""

    to: RunState
    allowed_from: frozenset[str]
    #: the word for it once done
    done: str


ENDS_FROM = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.PAUSING, RunState.PAUSED})
VERBS = {
    "pause": RunAction(RunState.PAUSING, frozenset({RunState.QUEUED, RunState.RUNNING}), "paused"),
    "resume": RunAction(RunState.QUEUED, frozenset({RunState.PAUSED, RunState.PAUSING}), "resumed"),
    "stop": RunAction(RunState.STOPPING, ENDS_FROM, "stopped"),
    "abort": RunAction(RunState.STOPPING, ENDS_FROM | {RunState.STOPPING}, "aborted"),
}


def possible(state: str) -> list[str]:
    """What may be done in a state as pages show it: of start, pause, resume, stop and abort."""
    stored = RunState.QUEUED if state == "waiting" else state
    if stored == "draft" or stored in ENDED_STATES:
        return ["start"]
    return [word for word, verb in VERBS.items() if stored in verb.allowed_from]


def pause(crawl: CrawlJob, *, by: User | None = None, keep_seconds: float | None = None) -> Run:
    """Let the crawl rest after the fetches under way; its frontier stays, and what it holds is
    given back.

    With `keep_seconds` what it holds stays reserved so long, if that leaves everybody else safe
    when its shift ends; otherwise it is given back after all, and the run's log says why. Raises
    WrongState, BadKeepTime.
    """
    if keep_seconds is not None:
        check_keep_seconds(keep_seconds)
    return _wind_down(
        crawl, "pause", "Finishing the fetches under way before it pauses.", by, keep_seconds
    )


def stop(crawl: CrawlJob, *, by: User | None = None) -> Run:
    """End the run after the fetches under way; its pages are kept. Raises WrongState."""
    return _wind_down(crawl, "stop", "Finishing the fetches under way before it stops.", by)


def abort(crawl: CrawlJob, *, by: User | None = None) -> Run:
    """End the run and cut its fetches off; what is not written down counts for nothing.

    Raises WrongState.
    """
    return _wind_down(crawl, "abort", "Cutting off the fetches under way.", by)


def resume(crawl: CrawlJob, *, by: User | None = None) -> Run:
    """Go on where a paused run stood, with what is still reserved for it. Raises WrongState."""
    run = _move(crawl, "resume", "Requesting resources for a shift.", by)
    ask_for_shifts(run)
    return run


def _wind_down(
    crawl: CrawlJob, word: str, reason: str, by: User | None, keep_seconds: float | None = None
) -> Run:
    run = _move(crawl, word, reason, by, keep_seconds)
    cancel_waiting(run)
    return settle_run(run.pk)


def _move(
    crawl: CrawlJob, word: str, reason: str, by: User | None, keep_seconds: float | None = None
) -> Run:
    verb = VERBS[word]
    to = verb.to
    latest = crawl.runs.first()
    if latest is None:
        raise WrongState(f"{crawl.name} has never been started.")
    with locked_run(latest.pk) as run:
        _check(crawl, run, verb)
        kept = {} if keep_seconds is None else {"keep_seconds": (None, keep_seconds)}
        note(by, crawl, verb.done, {"state": (run.state, to), **kept})
        write(run.pk, f"{verb.done.capitalize()} by {by or 'the command line'}.")
        if to == RunState.QUEUED:
            run.resumed_at = timezone.now()
        if to == RunState.QUEUED and Shift.objects.filter(process__run=run, ended_at=None).exists():
            # it was about to pause, and its shift may not even have noticed
            to, reason = RunState.RUNNING, "Fetching."
        run.state, run.reason, run.keep_seconds, run.trouble = to, reason, keep_seconds, ""
        run.aborted_at = timezone.now() if word == "abort" else None
        run.save(
            update_fields=["state", "reason", "keep_seconds", "trouble", "resumed_at", "aborted_at"]
        )
    return run


def _check(crawl: CrawlJob, run: Run, verb: RunAction) -> None:
    if run.state not in verb.allowed_from:
        possible = " or ".join(sorted(verb.allowed_from))
        raise WrongState(
            f"{crawl.name} is {run.state} and cannot be {verb.done}; only a {possible} crawl can."
        )
    if run.aborted_at:
        raise WrongState(f"{crawl.name} is being aborted already.")
