"""`/api/v1/crawls/{id}/…`: the deletion of single runs, and the rules on which runs are kept."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any

from ninja import Body, Path, Router, Status
from pydantic import Field, WithJsonSchema

from crawling.dashboard.base.api_parameters import (
    CrawlId,
    may_delete,
    may_view,
)
from crawling.dashboard.base.requests import get_crawl, get_run
from crawling.models import CrawlJob
from crawling.orders.retention import Retention
from crawling.runs.housekeeping.retention import set_retention
from crawling.runs.housekeeping.retention_view import kept_runs, retention_of
from crawling.runs.housekeeping.run_removal import remove_run
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

kept = Router()
Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="number of a run of the crawl")]
#: read by `crawling.orders.retention`, as on pages and on the command line
Rules = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {**Retention.model_json_schema(), "examples": [{"keep_runs": 10, "keep_days": 90}]}
    ),
]


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


def _retention_out(crawl: CrawlJob) -> RetentionOut:
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
    return RetentionOut(**retention_of(crawl).model_dump(), runs=runs)


@kept.get(
    "/{crawl_id}/retention",
    response=RetentionOut,
    summary="Get the retention rules, and what they mean for each run",
)
@may_view
def get_crawl_retention(request: AuthenticatedRequest, crawl_id: CrawlId) -> RetentionOut:
    return _retention_out(get_crawl(crawl_id))


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
    return _retention_out(crawl)


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
