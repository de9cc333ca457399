"""`/api/v1/crawls/{id}/…`: one run deleted, which runs are kept, and a run's checkpoints."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from datetime import datetime
from typing import Annotated, Any

from ninja import Body, Path, Router, Status
from pydantic import Field, WithJsonSchema

from crawling.dashboard.base.api_parameters import (
    CrawlId,
    Cursor,
    Limit,
    may_change,
    may_delete,
    may_view,
)
from crawling.dashboard.base.api_schemas import CancellableOut, cancelled_facts
from crawling.dashboard.base.requests import get_crawl, get_run
from crawling.models import BackgroundJob, CrawlJob
from crawling.orders.retention import Retention
from crawling.runs.housekeeping.retention import set_retention
from crawling.runs.housekeeping.retention_view import kept_runs, rules_of
from crawling.runs.housekeeping.run_removal import remove_run
from crawling.uses.checkpoints.jobs import Checkpoint, ask_checkpoint, checkpoints_of
from serving.access import AuthenticatedRequest
from serving.paging import page_of
from serving.schemas import Schema

kept = Router()
Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="number of a run of the crawl")]
#: read by `crawling.orders.retention`, as every door does
Rules = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {**Retention.model_json_schema(), "examples": [{"keep_runs": 10, "keep_days": 90}]}
    ),
]
checkpoints = Router()


class RunFateOut(Schema):
    """A run, its size, and its deletion by the retention rules."""

    run: int
    state: str
    finished_at: datetime | None
    pages: int
    archive_bytes: int
    goes_at: datetime | None = Field(
        description="when it will be deleted; past: as soon as possible; null: it is kept"
    )
    sentence: str


class RetentionOut(Schema):
    keep_runs: int | None
    keep_days: int | None
    max_bytes: int | None
    runs: list[RunFateOut] = Field(description="the latest first")


def _out(crawl: CrawlJob) -> RetentionOut:
    runs = [
        RunFateOut(
            run=one.run.number,
            state=one.run.state,
            finished_at=one.run.finished_at,
            pages=one.pages,
            archive_bytes=one.file_bytes,
            goes_at=one.fate.goes_at,
            sentence=one.fate.sentence,
        )
        for one in kept_runs(crawl)
    ]
    return RetentionOut(**rules_of(crawl).model_dump(), runs=runs)


@kept.get(
    "/{crawl_id}/retention",
    response=RetentionOut,
    summary="Get the retention rules, and what they mean for each run",
)
@may_view
def get_crawl_retention(request: AuthenticatedRequest, crawl_id: CrawlId) -> RetentionOut:
    return _out(get_crawl(crawl_id))


@kept.put(
    "/{crawl_id}/retention",
    response=RetentionOut,
    summary="Set the retention rules; the scheduler deletes the other runs",
)
@may_delete
def set_crawl_retention(
    request: AuthenticatedRequest, crawl_id: CrawlId, rules: Annotated[Rules, Body()]
) -> RetentionOut:
    """A run is deleted as soon as one of the rules applies; a rule that is not given is off.

    The latest run is always kept.
    """
    crawl = get_crawl(crawl_id)
    set_retention(crawl, rules, by=request.user)
    return _out(crawl)


@kept.delete(
    "/{crawl_id}/runs/{run_number}",
    response={204: None},
    summary="Delete a run with its pages and archive files",
)
@may_delete
def delete_run(request: AuthenticatedRequest, crawl_id: CrawlId, run_number: Number) -> Status:
    """Only a run that has ended, while no other is active, and whose archive has no pages of a
    later run. For 24 hours it can be restored: `/deleted`.
    """
    remove_run(get_run(crawl_id, run_number), by=request.user)
    return Status(204, None)


class CheckpointOut(CancellableOut):
    """It can be imported once `taken_at` is set; never if `trouble` is set."""

    id: int
    run: int
    asked_at: datetime
    taken_at: datetime | None
    machine: str
    directory: str = Field(description="on that machine; `manage.py checkpoint import` reads it")
    bytes: int
    urls: int
    trouble: str


class CheckpointPage(Schema):
    items: list[CheckpointOut]
    next: int | None


def _checkpoint_out(job: BackgroundJob) -> dict[str, Any]:
    assert job.run is not None
    made = Checkpoint.of(job)
    return {
        "id": job.pk,
        "run": job.run.number,
        "asked_at": job.asked_at,
        "taken_at": made.taken_at,
        "machine": made.machine,
        "directory": made.directory,
        "bytes": made.bytes,
        "urls": made.urls,
        "trouble": job.trouble,
        **cancelled_facts(job),
    }


@checkpoints.get(
    "/{crawl_id}/checkpoints",
    response=CheckpointPage,
    summary="List checkpoints of a crawl, latest first",
)
@may_view
def list_crawl_checkpoints(
    request: AuthenticatedRequest, crawl_id: CrawlId, cursor: Cursor = None, limit: Limit = 50
) -> dict[str, Any]:
    found = checkpoints_of(get_crawl(crawl_id))
    rows, following = page_of(found if cursor is None else found.filter(pk__lt=cursor), limit)
    return {"items": [_checkpoint_out(row) for row in rows], "next": following}


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
    return Status(202, _checkpoint_out(ask_checkpoint(get_run(crawl_id, None), by=request.user)))
