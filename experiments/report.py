"""Reads experiments: tables 1 and 2 (a row a request) and table 3 (a row a policy)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.utils import timezone

from allocation.models import Pool
from crawling.dashboard.base.job_answers import cancelled_facts
from experiments.models import (
    Experiment,
    ExperimentKind,
    ExperimentOutcome,
    ExperimentPolicy,
    ExperimentRequest,
    ExperimentState,
)

#: after this long without a heartbeat the experiment's process counts as dead
SILENT = timedelta(seconds=30)
#: the longest time until a cancelled experiment has released its units
ENDS_WITHIN = timedelta(minutes=1)
FIRST = Q(attempt=1)
ENDED = (ExperimentState.FINISHED, ExperimentState.BROKEN_OFF, ExperimentState.CANCELLED)
NUMBERS = {
    "requests_done": Count("pk", filter=FIRST),
    "waited_seconds": Sum("waited_seconds", filter=FIRST),
    "waited_with_retries_seconds": Sum("waited_seconds"),
    "deciding_seconds": Sum("deciding_seconds"),
    "unsafe_grants": Sum("unsafe_grants"),
    "locked": Count("pk", filter=FIRST & Q(outcome=ExperimentOutcome.LOCKED)),
    "deadlocked": Count("pk", filter=FIRST & Q(deadlocked=True)),
    "breaches": Count("pk", filter=FIRST & Q(outcome=ExperimentOutcome.BREACH)),
    "crashes": Count("pk", filter=FIRST & Q(outcome=ExperimentOutcome.CRASHED)),
    "pages": Sum("pages"),
}


@dataclass(frozen=True)
class RequestResult:
    number: int
    started_at: datetime
    #: the wait of the first attempt
    waited_seconds: float
    outcome: ExperimentOutcome
    deadlocked: bool
    pages: int
    detail: str
    #: the number of attempts after the first
    retries: int
    #: the sum of their waits
    retry_seconds: float
    #: the result of the last attempt
    in_the_end: ExperimentOutcome

    @property
    def label(self) -> str:
        return f"{self.outcome.label}:Request{self.number}"


@dataclass(frozen=True)
class PolicyResult:
    """One policy's results.

    As in the paper's table 3, a request counts by its first attempt, except in fields named as with
    retries.
    """

    policy: ExperimentPolicy
    pool: int | None
    #: its number among the experiment's policies, from 1 on
    place: int = 1
    requests_done: int = 0
    seconds: float | None = None
    waited_seconds: float = 0.0
    waited_with_retries_seconds: float = 0.0
    deciding_seconds: float = 0.0
    #: None if a round of the policy has not ended
    unsafe_grants: int | None = None
    locked: int = 0
    deadlocked: int = 0
    breaches: int = 0
    crashes: int = 0
    pages: int = 0
    entries: tuple[RequestResult, ...] = ()

    @property
    def table(self) -> int:
        """The number of its table of requests; table 3 compares the policies."""
        return self.place if self.place < 3 else self.place + 1

    @property
    def locked_percent(self) -> float:
        return 100 * self.locked / self.requests_done if self.requests_done else 0.0


@dataclass(frozen=True)
class ExperimentView:
    experiment: Experiment
    state: ExperimentState
    reason: str
    columns: tuple[PolicyResult, ...]

    @property
    def is_on_shifts(self) -> bool:
        return self.experiment.kind == ExperimentKind.SHIFTS

    @property
    def is_over(self) -> bool:
        return self.state in ENDED

    @property
    def requests_done(self) -> int:
        """The number of requests whose first attempt has ended, over all policies."""
        return sum(column.requests_done for column in self.columns)

    @property
    def to_do(self) -> int:
        return self.experiment.requests * len(self.experiment.policies)


#: the columns of an attempt from which its request's result is made
SHOWN = (
    *("policy", "number", "started_at", "waited_seconds", "outcome"),
    *("deadlocked", "pages", "detail"),
)


def listed_experiments() -> QuerySet[Experiment]:
    """All experiments, with the users of their jobs."""
    return Experiment.objects.select_related("job__by", "job__cancelled_by")


def experiment_view(experiment: Experiment) -> ExperimentView:
    (view,) = experiment_views([experiment])
    entries = request_results(experiment)
    columns = (replace(column, entries=entries.get(column.policy, ())) for column in view.columns)
    return replace(view, columns=tuple(columns))


def request_results(
    experiment: Experiment, numbers: Collection[int] | None = None
) -> dict[str, tuple[RequestResult, ...]]:
    """The requests of each policy by number; all requests if numbers is None."""
    tries: dict[str, dict[int, list[Any]]] = {}
    rows = ExperimentRequest.objects.filter(experiment=experiment).order_by("number", "attempt")
    if numbers is not None:
        rows = rows.filter(number__in=numbers)
    # there are thousands of rows, so no model objects are made
    for one in rows.values_list(*SHOWN, named=True):
        tries.setdefault(one.policy, {}).setdefault(one.number, []).append(one)
    return {policy: tuple(map(_request_result, by.values())) for policy, by in tries.items()}


class FirstAttempt(NamedTuple):
    number: int
    round: int
    started_at: datetime
    waited_seconds: float
    is_over: bool


#: the first attempts of each policy, by number
FirstTries = dict[str, list[FirstAttempt]]


def first_attempts(experiment: Experiment) -> FirstTries:
    """The first attempts, from which figure 3 is drawn."""
    tries: FirstTries = {}
    rows = ExperimentRequest.objects.filter(FIRST, experiment=experiment).order_by("number")
    columns = ("policy", "number", "round", "started_at", "waited_seconds", "outcome")
    for policy, number, turn, began, waited, outcome in rows.values_list(*columns):
        is_over = outcome == ExperimentOutcome.LOCKED
        tries.setdefault(policy, []).append(FirstAttempt(number, turn, began, waited, is_over))
    return tries


def experiment_views(experiments: Sequence[Experiment]) -> list[ExperimentView]:
    """Experiments without their requests, by three queries for all."""
    # a field's own name cannot be used again
    sums = {f"all_{name}": expression for name, expression in NUMBERS.items()}
    rows = (
        ExperimentRequest.objects.filter(experiment__in=experiments)
        .order_by()
        .values_list("experiment", "policy")
        .annotate(**sums)
    )
    numbers: dict[tuple[int, str], dict[str, Any]] = {
        (row[0], row[1]): dict(zip(NUMBERS, row[2:], strict=True)) for row in rows
    }
    names = [
        experiment.pool_name(policy) for experiment in experiments for policy in experiment.policies
    ]
    pools = dict(Pool.objects.filter(name__in=names).values_list("name", "pk"))
    durations = _durations_by_policy(experiments)

    def policy_result(experiment: Experiment, policy: str) -> PolicyResult:
        return PolicyResult(
            ExperimentPolicy(policy),
            pools.get(experiment.pool_name(policy)),
            experiment.policies.index(policy) + 1,
            seconds=durations.get((experiment.pk, policy)),
            **numbers.get((experiment.pk, policy), {}),
        )

    now = timezone.now()
    return [
        ExperimentView(
            experiment,
            *state_of(experiment, now),
            tuple(policy_result(experiment, policy) for policy in experiment.policies),
        )
        for experiment in experiments
    ]


def _durations_by_policy(experiments: Sequence[Experiment]) -> dict[tuple[int, str], float]:
    """The seconds of all rounds of each policy, by experiment and policy."""
    found: dict[tuple[int, str], float] = {}
    for experiment, policy, took in (
        ExperimentRequest.objects.filter(experiment__in=experiments)
        .order_by()
        .values("experiment", "policy", "round")
        .annotate(took=Max("ended_at") - Min("started_at"))
        .values_list("experiment", "policy", "took")
    ):
        found[experiment, policy] = found.get((experiment, policy), 0.0) + took.total_seconds()
    return found


def state_of(experiment: Experiment, now: datetime) -> tuple[ExperimentState, str]:
    """The state and its reason. A killed experiment is recognised by its missing heartbeat."""
    state, job = experiment.state, experiment.job
    heard = job.heartbeat_at
    if state == ExperimentState.RUNNING and heard is not None and heard < now - SILENT:
        return (
            ExperimentState.BROKEN_OFF,
            "Its process has ended unexpectedly; its units are released when its leases expire, "
            "and the background worker deletes crawls that it left.",
        )
    if job.cancelled_at and job.began_at and job.cancelled_at > now - ENDS_WITHIN:
        return state, "It ends within a minute, and releases what it holds."
    reasons = {
        ExperimentState.QUEUED: "It waits for the background worker.",
        ExperimentState.RUNNING: "Its requests are running.",
        ExperimentState.FINISHED: "All its requests have been tried.",
        ExperimentState.BROKEN_OFF: "Its process was ended; its units are released.",
        ExperimentState.CANCELLED: "Its units are released; what it has tried is kept.",
    }
    return state, reasons[state]


def _request_result(tries: list[Any]) -> RequestResult:
    """The result of one request from its rows, the first attempt first."""
    first, later = tries[0], tries[1:]
    return RequestResult(
        number=first.number,
        started_at=first.started_at,
        waited_seconds=first.waited_seconds,
        outcome=ExperimentOutcome(first.outcome),
        deadlocked=first.deadlocked,
        pages=sum(one.pages for one in tries),
        detail=next((one.detail for one in reversed(tries) if one.detail), ""),
        retries=len(later),
        retry_seconds=sum(one.waited_seconds for one in later),
        in_the_end=ExperimentOutcome(tries[-1].outcome),
    )


def as_dict(view: ExperimentView, *, with_requests: bool) -> dict[str, Any]:
    """An experiment; its requests only if one experiment is requested."""
    experiment = view.experiment
    job = experiment.job
    return {
        "id": experiment.pk,
        "kind": str(experiment.kind),
        "requests": experiment.requests,
        "bound_seconds": experiment.bound_seconds,
        "seed": experiment.seed,
        "policies": list(experiment.policies),
        "state": str(view.state),
        "reason": view.reason,
        "created_at": job.asked_at,
        "started_at": job.began_at,
        "finished_at": job.ended_at,
        "by": job.by.get_username() if job.by else None,
        **cancelled_facts(job),
        "results": [_policy_json(column, with_requests=with_requests) for column in view.columns],
    }


def _policy_json(column: PolicyResult, *, with_requests: bool) -> dict[str, Any]:
    numbers = vars(column) | {
        "policy": str(column.policy),
        "locked_percent": column.locked_percent,
    }
    del numbers["entries"], numbers["place"]
    return numbers | (
        {"requests": [_request_json(entry) for entry in column.entries]} if with_requests else {}
    )


def _request_json(entry: RequestResult) -> dict[str, Any]:
    return vars(entry) | {
        "label": entry.label,
        "outcome": str(entry.outcome),
        "in_the_end": str(entry.in_the_end),
    }
