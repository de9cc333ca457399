"""`/api/v1/crawls/{id}/checkpoints`: the checkpoints of a crawl."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import QuerySet
from ninja import Router, Status
from pydantic import Field

from crawling.dashboard.base.api_parameters import CrawlId, may_change, may_view
from crawling.dashboard.base.job_answers import CancellableOut, job_facts
from crawling.dashboard.base.requests import get_crawl, get_run
from crawling.models import BackgroundJob
from crawling.uses.checkpoints.jobs import Checkpoint, checkpoints_of, request_checkpoint
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import listed
from serving.listing.sources import QueryList

checkpoints = Router()


class CheckpointOut(CancellableOut):
    """A checkpoint can be imported once `taken_at` is set; never if `trouble` is set."""

    id: int
    run: int
    asked_at: datetime
    taken_at: datetime | None
    machine: str
    directory: str = Field(description="on that machine; `manage.py checkpoint import` reads it")
    bytes: int
    urls: int
    trouble: str


def _checkpoint_out(job: BackgroundJob) -> dict[str, Any]:
    made = Checkpoint.from_job(job)
    names = ("taken_at", "machine", "directory", "bytes", "urls")
    return {**job_facts(job), **{name: getattr(made, name) for name in names}}


@listed(
    checkpoints,
    "/{crawl_id}/checkpoints",
    QueryList(CheckpointOut, read=partial(map, _checkpoint_out)),
    summary="List checkpoints of a crawl, latest first",
)
@may_view
def list_crawl_checkpoints(
    request: AuthenticatedRequest, crawl_id: CrawlId
) -> QuerySet[BackgroundJob]:
    return checkpoints_of(get_crawl(crawl_id))


@checkpoints.post(
    "/{crawl_id}/checkpoints",
    response={202: CheckpointOut},
    summary="Take a checkpoint of the latest run",
)
@may_change
def create_checkpoint(request: AuthenticatedRequest, crawl_id: CrawlId) -> Status:
    """A pending checkpoint is returned instead of a second one. It is written to CHECKPOINT_DIR;
    without that setting the request is refused.
    """
    return Status(
        202, _checkpoint_out(request_checkpoint(get_run(crawl_id, None), by=request.user))
    )


ROUTERS = (("/crawls", checkpoints, "checkpoints"),)
