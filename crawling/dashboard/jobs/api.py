"""`/api/v1/jobs`: background jobs of all kinds."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any, Literal

from django.shortcuts import get_object_or_404
from ninja import Path, Query, Router, Status
from pydantic import Field

from crawling.dashboard.base.api_parameters import (
    LARGEST,
    Cursor,
    Limit,
    may_change,
    may_view,
)
from crawling.dashboard.base.job_answers import CancellableOut
from crawling.dashboard.jobs.job_list import STATES, job_facts, listed_jobs, rows_for
from crawling.jobs.cancel import cancel_job, run_job_again
from crawling.jobs.job_rows import visible_jobs
from crawling.jobs.kinds import job_kinds
from crawling.models import BackgroundJob
from serving.access import AuthenticatedRequest
from serving.paging import rows_and_next
from serving.schemas import Schema

jobs = Router()
JobId = Annotated[int, Path(ge=1, le=LARGEST, description="`id` of the list")]
#: all kinds are registered when the process starts
KINDS = tuple(job_kinds())
JobKindName = Annotated[
    Literal["", *KINDS],  # type: ignore[valid-type]
    Query(description="only jobs of this kind"),
]
State = Annotated[
    Literal["", *STATES],  # type: ignore[valid-type]
    Query(description="only jobs in this state"),
]
OfCrawl = Annotated[int | None, Query(ge=1, le=LARGEST, description="only jobs of this crawl")]


class JobOut(CancellableOut):
    id: int
    kind: str = Field(description="such as extraction or wacz")
    crawl: int | None = Field(description="id; null: it is of no crawl")
    run: int | None = Field(description="number of the run")
    state: str = Field(description="waiting, working, done, cancelled or failed")
    percent: int | None = Field(description="done; null: not known")
    seconds_left: float | None = Field(description="by the rate so far; null: not known")
    progress: dict[str, Any] = Field(description="counts of its kind")
    waits: str = Field(description="why no worker is at it; empty: one is, or none yet")
    trouble: str = Field(description="why there is no result")
    by: str = Field(description="user; empty: the command line, or the scheduler")
    attempts: int = Field(description="how often it was begun at the same place")
    asked_at: datetime
    began_at: datetime | None
    heartbeat_at: datetime | None = Field(description="when its worker was last heard of")
    ended_at: datetime | None


class JobPage(Schema):
    items: list[JobOut]
    next: int | None


@jobs.get("", response=JobPage, summary="List background jobs, the latest first")
@may_view
def list_jobs(
    request: AuthenticatedRequest,
    kind: JobKindName = "",
    state: State = "",
    crawl: OfCrawl = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """Without `kind` and `state`, jobs that are kept for an hour or a day are not listed: jobs of
    the scheduler, and questions of pages. Jobs of deleted runs are not listed.
    """
    found = listed_jobs(kind=kind, state=state, crawl=crawl)
    rows, following = rows_and_next(found if cursor is None else found.filter(pk__lt=cursor), limit)
    return {"items": [job_facts(row) for row in rows_for(request.user, rows)], "next": following}


@jobs.get("/{job_id}", response=JobOut, summary="Get a background job")
@may_view
def get_job(request: AuthenticatedRequest, job_id: JobId) -> dict[str, Any]:
    return _facts_of(request, _job(job_id))


@jobs.post("/{job_id}/cancel", response=JobOut, summary="Cancel a background job")
@may_change
def cancel_background_job(request: AuthenticatedRequest, job_id: JobId) -> dict[str, Any]:
    """The job ends within seconds, and what it has written is removed; 409 if it has ended."""
    return _facts_of(request, cancel_job(_job(job_id), by=request.user))


@jobs.post(
    "/{job_id}/run-again",
    response={202: JobOut},
    summary="Ask again for what a background job does",
)
@may_change
def run_background_job_again(
    request: AuthenticatedRequest, job_id: JobId
) -> Status[dict[str, Any]]:
    """Only for a job that has failed or was cancelled: 409 for others. The answer is the new
    job.
    """
    return Status(202, _facts_of(request, run_job_again(_job(job_id), by=request.user)))


def _job(job_id: int) -> BackgroundJob:
    rows = visible_jobs().select_related("run__crawl", "by", "cancelled_by")
    return get_object_or_404(rows, pk=job_id)


def _facts_of(request: AuthenticatedRequest, job: BackgroundJob) -> dict[str, Any]:
    return job_facts(rows_for(request.user, [job])[0])
