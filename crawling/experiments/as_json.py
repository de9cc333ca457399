"""An experiment as JSON has it, for programs and for the command line."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from crawling.experiments.report import ExperimentView, PolicyResult, RequestResult


def as_dict(view: ExperimentView, *, with_requests: bool) -> dict[str, Any]:
    """An experiment; its requests only where one experiment is asked for."""
    experiment = view.experiment
    return {
        "id": experiment.pk,
        "requests": experiment.requests,
        "bound_seconds": experiment.bound_seconds,
        "seed": experiment.seed,
        "policies": list(experiment.policies),
        "state": str(view.state),
        "reason": view.reason,
        "created_at": experiment.created_at,
        "started_at": experiment.started_at,
        "finished_at": experiment.finished_at,
        "by": experiment.by.get_username() if experiment.by else None,
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
