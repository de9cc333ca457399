"""Read trials: tables 1 and 2 (a row a request), table 3 (a row a policy), and what they come to beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from allocation.models import Pool
from crawling.models import Trial, TrialOutcome, TrialPolicy, TrialRequest, TrialState

#: without a sign of life for so long, whoever ran the trial is dead
SILENT = timedelta(seconds=30)


@dataclass(frozen=True)
class Entry:
    """A request in table 1 or 2: its first try, and what came after it. `waited_seconds` is the first try's."""

    number: int
    started_at: datetime
    waited_seconds: float
    outcome: TrialOutcome
    deadlocked: bool
    pages: int
    detail: str
    #: tries after the first, what they waited, and what became of the last one
    retries: int
    retry_seconds: float
    in_the_end: TrialOutcome

    @property
    def label(self) -> str:
        return f"{self.outcome.label}:Request{self.number}"


@dataclass(frozen=True)
class Column:
    """One policy's results. In table 3, as in the paper, a request counts by its first try."""

    policy: TrialPolicy
    pool: int | None
    entries: tuple[Entry, ...]
    seconds: float | None

    @property
    def waited_seconds(self) -> float:
        """Table 3's total waiting."""
        return sum(entry.waited_seconds for entry in self.entries)

    @property
    def waited_with_retries_seconds(self) -> float:
        return sum(entry.waited_seconds + entry.retry_seconds for entry in self.entries)

    @property
    def locked(self) -> int:
        return self._count(TrialOutcome.LOCKED)

    @property
    def deadlocked(self) -> int:
        return sum(entry.deadlocked for entry in self.entries)

    @property
    def breaches(self) -> int:
        return self._count(TrialOutcome.BREACH)

    @property
    def crashes(self) -> int:
        return self._count(TrialOutcome.CRASHED)

    @property
    def locked_percent(self) -> float:
        return 100 * self.locked / len(self.entries) if self.entries else 0.0

    @property
    def pages(self) -> int:
        return sum(entry.pages for entry in self.entries)

    def _count(self, outcome: TrialOutcome) -> int:
        return sum(entry.outcome == outcome for entry in self.entries)


@dataclass(frozen=True)
class TrialView:
    """A trial as pages, JSON and the command line show it."""

    trial: Trial
    state: TrialState
    reason: str
    columns: tuple[Column, ...]

    @property
    def ratio(self) -> float | None:
        """The Banker's total waiting as a part of plain requests'; None until both have ended."""
        waited = {column.policy: column.waited_seconds for column in self.columns}
        plain = waited.get(TrialPolicy.NAIVE)
        if self.state != TrialState.FINISHED or not plain or TrialPolicy.BANKER not in waited:
            return None
        return waited[TrialPolicy.BANKER] / plain

    @property
    def done(self) -> int:
        """Requests whose first try has ended, over all policies."""
        return sum(len(column.entries) for column in self.columns)

    @property
    def to_do(self) -> int:
        return self.trial.requests * len(self.trial.policies)


def trial_view(trial: Trial) -> TrialView:
    return trial_views([trial])[0]


def trial_views(trials: Sequence[Trial]) -> list[TrialView]:
    """Show trials, with two queries for all."""
    tries: dict[tuple[int, str], list[TrialRequest]] = {}
    for one in TrialRequest.objects.filter(trial__in=trials).order_by("number", "attempt"):
        tries.setdefault((one.trial_id, one.policy), []).append(one)
    names = [trial.pool_name(policy) for trial in trials for policy in trial.policies]
    pools = dict(Pool.objects.filter(name__in=names).values_list("name", "pk"))
    return [_view(trial, tries, pools) for trial in trials]


def _view(trial: Trial, tries: dict[tuple[int, str], list[TrialRequest]], pools: dict[str, int]) -> TrialView:
    state, reason = state_of(trial, timezone.now())
    columns = [_column(policy, pools.get(trial.pool_name(policy)), tries.get((trial.pk, policy), [])) for policy in trial.policies]
    return TrialView(trial, state, reason, tuple(columns))


def state_of(trial: Trial, now: datetime) -> tuple[TrialState, str]:
    """The state and why. Nobody is left to mark a trial that was killed: its silence does."""
    if trial.state == TrialState.QUEUED:
        return TrialState.QUEUED, "It waits for the worker that does the chores."
    if trial.state == TrialState.RUNNING and trial.seen_at is not None and trial.seen_at < now - SILENT:
        return TrialState.BROKEN_OFF, "Whoever ran it died; what it held comes back when the leases run out."
    reasons = {
        TrialState.RUNNING: "Its requests are at work.",
        TrialState.FINISHED: "All its requests have been tried.",
        TrialState.BROKEN_OFF: "It was stopped; what it held was given back.",
    }
    return TrialState(trial.state), reasons[TrialState(trial.state)]


def _column(policy: str, pool: int | None, tries: list[TrialRequest]) -> Column:
    by_number: dict[int, list[TrialRequest]] = {}
    for one in tries:
        by_number.setdefault(one.number, []).append(one)
    seconds = (max(one.ended_at for one in tries) - min(one.started_at for one in tries)).total_seconds() if tries else None
    return Column(TrialPolicy(policy), pool, tuple(_entry(mine) for mine in by_number.values()), seconds)


def _entry(tries: list[TrialRequest]) -> Entry:
    first, later = tries[0], tries[1:]
    return Entry(
        number=first.number,
        started_at=first.started_at,
        waited_seconds=first.waited_seconds,
        outcome=TrialOutcome(first.outcome),
        deadlocked=first.deadlocked,
        pages=sum(one.pages for one in tries),
        detail=next((one.detail for one in reversed(tries) if one.detail), ""),
        retries=len(later),
        retry_seconds=sum(one.waited_seconds for one in later),
        in_the_end=TrialOutcome(tries[-1].outcome),
    )


def as_dict(view: TrialView, *, with_requests: bool) -> dict[str, Any]:
    """A trial for programs; its requests only where one trial is asked for."""
    trial = view.trial
    return {
        "id": trial.pk,
        "requests": trial.requests,
        "bound_seconds": trial.bound_seconds,
        "seed": trial.seed,
        "policies": list(trial.policies),
        "state": str(view.state),
        "reason": view.reason,
        "created_at": trial.created_at,
        "started_at": trial.started_at,
        "finished_at": trial.finished_at,
        "by": trial.by.get_username() if trial.by else None,
        "ratio": view.ratio,
        "results": [_result(column, with_requests=with_requests) for column in view.columns],
    }


def _result(column: Column, *, with_requests: bool) -> dict[str, Any]:
    numbers = {
        "policy": str(column.policy),
        "pool": column.pool,
        "requests_done": len(column.entries),
        "seconds": column.seconds,
        "waited_seconds": column.waited_seconds,
        "waited_with_retries_seconds": column.waited_with_retries_seconds,
        "locked": column.locked,
        "locked_percent": column.locked_percent,
        "deadlocked": column.deadlocked,
        "breaches": column.breaches,
        "crashes": column.crashes,
        "pages": column.pages,
    }
    return numbers | ({"requests": [_request(entry) for entry in column.entries]} if with_requests else {})


def _request(entry: Entry) -> dict[str, Any]:
    return {
        "label": entry.label,
        "number": entry.number,
        "started_at": entry.started_at,
        "waited_seconds": entry.waited_seconds,
        "outcome": str(entry.outcome),
        "deadlocked": entry.deadlocked,
        "retries": entry.retries,
        "retry_seconds": entry.retry_seconds,
        "in_the_end": str(entry.in_the_end),
        "pages": entry.pages,
        "detail": entry.detail,
    }
