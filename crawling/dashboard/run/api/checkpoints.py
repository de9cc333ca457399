"""`/api/v1/crawls/{id}/checkpoints`: see a crawl's checkpoints, and ask for one."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from datetime import datetime
from typing import Any

from ninja import Router, Schema, Status
from pydantic import Field

from crawling.checkpoints.checkpoint_store import ask_checkpoint
from crawling.dashboard.base.api_parameters import CrawlId, Cursor, Limit, may_change, may_view
from crawling.dashboard.base.requests import get_crawl, get_run
from crawling.models import Checkpoint
from serving.access import AuthenticatedRequest
from serving.paging import page_of

checkpoints = Router()


class CheckpointOut(Schema):
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


def _out(row: Checkpoint) -> dict[str, Any]:
    return {name: getattr(row, name) for name in CheckpointOut.model_fields if name != "run"} | {
        "run": row.run.number
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
    found = Checkpoint.objects.filter(run__crawl=get_crawl(crawl_id)).select_related("run")
    rows, following = page_of(found if cursor is None else found.filter(pk__lt=cursor), limit)
    return {"items": [_out(row) for row in rows], "next": following}


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
    return Status(202, _out(ask_checkpoint(get_run(crawl_id, None), by=request.user)))
