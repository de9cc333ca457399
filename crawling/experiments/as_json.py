"""A trial as JSON has it, for programs and for the command line."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from crawling.experiments.report import PolicyResult, RequestResult, TrialView


def as_dict(view: TrialView, *, with_requests: bool) -> dict[str, Any]:
    """A trial; its requests only where one trial is asked for."""
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


def _result(column: PolicyResult, *, with_requests: bool) -> dict[str, Any]:
    numbers = asdict(column) | {
        "policy": str(column.policy),
        "locked_percent": column.locked_percent,
    }
    del numbers["entries"]
    return numbers | (
        {"requests": [_request(entry) for entry in column.entries]} if with_requests else {}
    )


def _request(entry: RequestResult) -> dict[str, Any]:
    return asdict(entry) | {
        "label": entry.label,
        "outcome": str(entry.outcome),
        "in_the_end": str(entry.in_the_end),
    }
