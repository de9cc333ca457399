"""Read trials: tables 1 and 2 (a row a request) and table 3 (a row a policy)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min, Q, Sum
from django.utils import timezone

from allocation.models import Pool
from crawling.models.trials import Trial, TrialOutcome, TrialPolicy, TrialRequest, TrialState

#: without a sign of life for so long, whoever ran the trial is dead
SILENT = timedelta(seconds=30)
FIRST = Q(attempt=1)
NUMBERS = {
    "requests_done": Count("pk", filter=FIRST),
    "waited_seconds": Sum("waited_seconds", filter=FIRST),
    "waited_with_retries_seconds": Sum("waited_seconds"),
    "locked": Count("pk", filter=FIRST & Q(outcome=TrialOutcome.LOCKED)),
    "deadlocked": Count("pk", filter=FIRST & Q(deadlocked=True)),
    "breaches": Count("pk", filter=FIRST & Q(outcome=TrialOutcome.BREACH)),
    "crashes": Count("pk", filter=FIRST & Q(outcome=TrialOutcome.CRASHED)),
    "pages": Sum("pages"),
    "took": Max("ended_at") - Min("started_at"),
}


@dataclass(frozen=True)
class RequestResult:
    """A request in table 1 or 2: its first try, and what came after it.

    `waited_seconds` is the first try's.
    """

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
class PolicyResult:
    """One policy's results.

    As in the paper's table 3, a request counts by its first try, but for what is said to be with
    retries.
    """

    policy: TrialPolicy
    pool: int | None
    requests_done: int = 0
    seconds: float | None = None
    waited_seconds: float = 0.0
    waited_with_retries_seconds: float = 0.0
    locked: int = 0
    deadlocked: int = 0
    breaches: int = 0
    crashes: int = 0
    pages: int = 0
    entries: tuple[RequestResult, ...] = ()

    @property
    def locked_percent(self) -> float:
        return 100 * self.locked / self.requests_done if self.requests_done else 0.0


@dataclass(frozen=True)
class TrialView:
    """A trial as pages, JSON and the command line show it."""

    trial: Trial
    state: TrialState
    reason: str
    columns: tuple[PolicyResult, ...]

    @property
    def ratio(self) -> float | None:
        """The Banker's total waiting as a part of plain requests'; None until both have ended."""
        waited = {column.policy: column.waited_seconds for column in self.columns}
        plain = waited.get(TrialPolicy.NAIVE)
        if self.state != TrialState.FINISHED or not plain or TrialPolicy.BANKER not in waited:
            return None
        return waited[TrialPolicy.BANKER] / plain

    @property
    def is_over(self) -> bool:
        return self.state in (TrialState.FINISHED, TrialState.BROKEN_OFF)

    @property
    def done(self) -> int:
        """Requests whose first try has ended, over all policies."""
        return sum(column.requests_done for column in self.columns)

    @property
    def to_do(self) -> int:
        return self.trial.requests * len(self.trial.policies)


def trial_view(trial: Trial) -> TrialView:
    """A trial with every request."""
    (view,) = trial_views([trial])
    tries: dict[str, dict[int, list[TrialRequest]]] = {}
    for one in TrialRequest.objects.filter(trial=trial).order_by("number", "attempt"):
        tries.setdefault(one.policy, {}).setdefault(one.number, []).append(one)
    columns = (
        replace(column, entries=tuple(map(_entry, tries.get(column.policy, {}).values())))
        for column in view.columns
    )
    return replace(view, columns=tuple(columns))


def trial_views(trials: Sequence[Trial]) -> list[TrialView]:
    """Trials without their requests, by two queries for all."""
    # a field's own name cannot be used again
    sums = {f"all_{name}": expression for name, expression in NUMBERS.items()}
    rows = (
        TrialRequest.objects.filter(trial__in=trials)
        .order_by()
        .values_list("trial", "policy")
        .annotate(**sums)
    )
    numbers: dict[tuple[int, str], dict[str, Any]] = {
        (row[0], row[1]): dict(zip(NUMBERS, row[2:], strict=True)) for row in rows
    }
    names = [trial.pool_name(policy) for trial in trials for policy in trial.policies]
    pools = dict(Pool.objects.filter(name__in=names).values_list("name", "pk"))

    def column(trial: Trial, policy: str) -> PolicyResult:
        found = dict(numbers.get((trial.pk, policy), {}))
        took: timedelta | None = found.pop("took", None)
        return PolicyResult(
            TrialPolicy(policy),
            pools.get(trial.pool_name(policy)),
            seconds=took.total_seconds() if took else None,
            **found,
        )

    now = timezone.now()
    return [
        TrialView(
            trial, *state_of(trial, now), tuple(column(trial, policy) for policy in trial.policies)
        )
        for trial in trials
    ]


def state_of(trial: Trial, now: datetime) -> tuple[TrialState, str]:
    """The state and why. Nobody is left to mark a trial that was killed: its silence does."""
    if (
        trial.state == TrialState.RUNNING
        and trial.seen_at is not None
        and trial.seen_at < now - SILENT
    ):
        return (
            TrialState.BROKEN_OFF,
            "Whoever ran it has died; what it held comes back when its leases run out.",
        )
    reasons = {
        TrialState.QUEUED: "It waits for the background worker.",
        TrialState.RUNNING: "Its requests are at work.",
        TrialState.FINISHED: "All its requests have been tried.",
        TrialState.BROKEN_OFF: "It was stopped; what it held was given back.",
    }
    return TrialState(trial.state), reasons[TrialState(trial.state)]


def _entry(tries: list[TrialRequest]) -> RequestResult:
    first, later = tries[0], tries[1:]
    return RequestResult(
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
