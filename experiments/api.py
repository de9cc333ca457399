"""`/api/v1/experiments`: make experiments, and read their results."""

# Annotations are not postponed here: ninja reads them, and could not resolve names behind Django's
# decorator.

from datetime import datetime
from typing import Annotated, Any, Literal

from django.shortcuts import get_object_or_404
from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import LARGEST, Cursor, Limit, may_add, may_view
from crawling.dashboard.base.job_answers import CancellableOut
from crawling.jobs.cancel import cancel_job
from experiments.form import (
    CHOICES,
    DEFAULT_BOUND_SECONDS,
    DEFAULT_CRAWLS,
    DEFAULT_REQUESTS,
    DEFAULT_SEED,
    LEAST_BOUND_SECONDS,
    MOST_BOUND_SECONDS,
    MOST_CRAWLS,
    MOST_REQUESTS,
    MOST_SEED,
    start_experiment,
)
from experiments.models import Experiment
from experiments.report import as_dict, experiment_view, experiment_views, listed_experiments
from serving.access import AuthenticatedRequest
from serving.paging import rows_and_next
from serving.schemas import Schema

experiments = Router()
ExperimentId = Annotated[int, Path(ge=1, le=LARGEST)]


class NewExperiment(Schema):
    """Settings of an experiment; the defaults follow the paper, at a faster pace."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [{"policy": "both", "requests": 100, "bound_seconds": 8.0, "seed": 1}]
        },
    )
    kind: Literal["threads", "shifts"] = Field(
        "threads",
        description="threads: of the experiment itself; shifts: the work sessions of crawls that "
        "it orders, by workers that it starts, which needs a scheduler",
    )
    policy: Literal[*CHOICES] = Field(  # type: ignore[valid-type]
        "both",
        description="both: plain requests (naive), then the Banker's algorithm; searches: the "
        "Banker's algorithm with each search (reduced scope, full scope, both recursions)",
    )
    requests: int | None = Field(
        None,
        ge=1,
        le=MOST_REQUESTS,
        description=f"of each policy; null: {DEFAULT_REQUESTS} for threads, {DEFAULT_CRAWLS} "
        f"crawls for work sessions, of which there are {MOST_CRAWLS} at most",
    )
    bound_seconds: float = Field(
        DEFAULT_BOUND_SECONDS,
        ge=LEAST_BOUND_SECONDS,
        le=MOST_BOUND_SECONDS,
        description="a request that waits longer is locked",
    )
    seed: int = Field(
        DEFAULT_SEED, ge=0, le=MOST_SEED, description="the same seed makes the same requests"
    )


class RequestOut(Schema):
    """A row of table 1 or 2: the first try at a request."""

    label: str = Field(description="such as Locked:Request5")
    number: int
    started_at: datetime
    waited_seconds: float
    outcome: str = Field(description="completed, locked, breach or crashed")
    deadlocked: bool = Field(
        description="when its bound passed, no process that could finish held what it needed"
    )
    retries: int = Field(description="tries after the first")
    retry_seconds: float = Field(description="waiting time of the retries")
    in_the_end: str = Field(description="result of the last try")
    pages: int
    detail: str


class ResultOut(Schema):
    """A row of table 3: results of the first tries under one policy."""

    policy: str
    pool: int | None = Field(description="its pool; null before it begins")
    requests_done: int
    seconds: float | None = Field(
        description="of its rounds, each from the first start to the last end, retries included"
    )
    waited_seconds: float
    waited_with_retries_seconds: float
    deciding_seconds: float = Field(
        description="from asking the pool to its answers, with retries; the searches differ here"
    )
    unsafe_grants: int | None = Field(
        description="grants that left the pool in an unsafe state; null: not counted yet"
    )
    locked: int
    locked_percent: float
    deadlocked: int
    breaches: int
    crashes: int
    pages: int


class ResultWithRequests(ResultOut):
    requests: list[RequestOut]


class ExperimentHead(CancellableOut):
    id: int
    kind: str = Field(description="threads, or shifts (work sessions) of crawls")
    requests: int
    bound_seconds: float
    seed: int
    policies: list[str]
    state: str = Field(description="queued, running, finished, broken_off or cancelled")
    reason: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    by: str | None = Field(description="user who started it; null: the command line")


class ExperimentOut(ExperimentHead):
    results: list[ResultOut]


class ExperimentDetail(ExperimentHead):
    results: list[ResultWithRequests]


class ExperimentPage(Schema):
    items: list[ExperimentOut]
    next: int | None


@experiments.get("", response=ExperimentPage, summary="List experiments, the newest first")
@may_view
def list_experiments(
    request: AuthenticatedRequest, cursor: Cursor = None, limit: Limit = 50
) -> dict[str, Any]:
    found = listed_experiments()
    rows, following = rows_and_next(found if cursor is None else found.filter(pk__lt=cursor), limit)
    views = experiment_views(rows)
    return {"items": [as_dict(view, with_requests=False) for view in views], "next": following}


@experiments.post(
    "", response={201: ExperimentDetail}, summary="Start an experiment in the background"
)
@may_add
def create_experiment(
    request: AuthenticatedRequest, wanted: Annotated[NewExperiment, Body()]
) -> Status:
    """The background worker runs it; get the experiment for its progress."""
    experiment = start_experiment(by=request.user, **wanted.dict())
    return Status(201, as_dict(experiment_view(experiment), with_requests=True))


@experiments.get(
    "/{experiment_id}", response=ExperimentDetail, summary="Get an experiment with every request"
)
@may_view
def get_experiment(request: AuthenticatedRequest, experiment_id: ExperimentId) -> dict[str, Any]:
    return as_dict(
        experiment_view(get_object_or_404(listed_experiments(), pk=experiment_id)),
        with_requests=True,
    )


@experiments.post(
    "/{experiment_id}/cancel", response=ExperimentDetail, summary="Cancel an experiment"
)
@may_add
def cancel_one_experiment(
    request: AuthenticatedRequest, experiment_id: ExperimentId
) -> dict[str, Any]:
    """A waiting experiment leaves the queue at once; a running one ends within a minute: its units
    are released and its crawls deleted, and the requests tried so far are kept. Its maker may do
    so, and administrators. 409 if it has ended.
    """
    experiment = get_object_or_404(Experiment, pk=experiment_id)
    cancel_job(experiment.job, by=request.user)
    return as_dict(experiment_view(experiment), with_requests=True)


ROUTERS = (("/experiments", experiments, "experiments"),)
