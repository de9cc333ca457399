"""`/api/v1/crawls/{id}/downloads`: all data of a run as files."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import Http404, StreamingHttpResponse
from ninja import Path, Query, Router, Status
from pydantic import Field

from crawling.base.errors import ArchiveTrouble, NotFound
from crawling.dashboard.base.api_parameters import CrawlId, RunNumber, may_change, may_view
from crawling.dashboard.base.requests import get_run
from crawling.datasets.parts import MOST_BEHIND
from crawling.uses.bulk_data.files import bulk_file
from crawling.uses.bulk_data.offers import BulkData, offer_of, offers_of, request_file
from crawling.uses.bulk_data.tables import BY_NAME
from serving.access import AuthenticatedRequest
from serving.downloads import send
from serving.schemas import Schema

bulk = Router()
Data = Annotated[
    Literal[*BY_NAME],  # type: ignore[valid-type]
    Path(description="a kind of data"),
]
Ending = Annotated[
    Literal["csv", "jsonl", "parquet", "zip"],
    Query(alias="format", description="`zip`: of tables, a CSV file for each"),
]
Mark = Annotated[bool, Query(description="CSV begins with a byte order mark, as Excel wants it")]
FILE: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
TYPES = (
    *("text/csv", "application/x-ndjson", "application/vnd.apache.parquet"),
    "application/zip",
)
FILES: dict[str, Any] = {
    "responses": {200: {"description": "The rows", "content": dict.fromkeys(TYPES, FILE)}}
}


class BulkDataOut(Schema):
    name: str
    rows: int | None = Field(description="null: known once a job has made the file")
    bytes: int | None = Field(description="of a CSV file, about; null: not known")
    complete: bool = Field(description="the run is over, and no page is missing")
    behind: int = Field(
        description=f"pages that are not in it yet; {MOST_BEHIND:,}: so many or more"
    )
    ready: list[str] = Field(description="formats that are sent at once; a job makes the others")
    state: str = Field(
        description="of the latest job: none, waiting, working, made, cancelled or failed"
    )
    trouble: str = Field(description="why the latest job failed")
    made_at: datetime | None = Field(description="when the file was made that a job makes")
    is_outdated: bool = Field(description="there are other data since")
    parquet_bytes: int | None
    failed: dict[str, int] = Field(
        description="of extracted fields with a type, the values that could not be converted"
    )
    unreadable: int = Field(description="pages whose tables could not be read")


class BulkDataList(Schema):
    run: int
    items: list[BulkDataOut]


def _offer_json(offer: BulkData) -> dict[str, Any]:
    return {
        "name": offer.table.name,
        "rows": offer.rows,
        "bytes": offer.bytes,
        "complete": offer.is_complete,
        "behind": offer.behind,
        "ready": [ending for ending, _, is_ready in offer.files if is_ready],
        "state": offer.state,
        "trouble": offer.job.trouble if offer.job else "",
        "made_at": offer.made.job.ended_at if offer.made else None,
        "is_outdated": offer.is_outdated,
        "parquet_bytes": offer.made.counts["bytes"] if offer.made else None,
        "failed": offer.failed,
        "unreadable": offer.unreadable,
    }


@bulk.get(
    "/{crawl_id}/downloads",
    response=BulkDataList,
    summary="List what a run offers as files",
)
@may_view
def list_downloads(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> dict[str, Any]:
    """Pages, texts, tables, extracted fields, links and structured data, with their rows."""
    one = get_run(crawl_id, run)
    return {"run": one.number, "items": [_offer_json(offer) for offer in offers_of(one)]}


@bulk.post(
    "/{crawl_id}/downloads/{data}",
    response={202: BulkDataOut},
    summary="Have the Parquet file of a kind of data made by a background job",
)
@may_change
def create_download(
    request: AuthenticatedRequest, crawl_id: CrawlId, data: Data, run: RunNumber = None
) -> Status[dict[str, Any]]:
    """Files of tables, and of extracted fields with a type, are also made from it."""
    one, table = get_run(crawl_id, run), BY_NAME[data]
    request_file(one, table, by=request.user)
    return Status(202, _offer_json(offer_of(one, table)))


@bulk.get(
    "/{crawl_id}/downloads/{data}/export",
    openapi_extra=FILES,
    summary="Export all data of a kind that a run has",
)
@may_view
def export_download(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    data: Data,
    run: RunNumber = None,
    form: Ending = "jsonl",
    mark: Mark = False,
) -> StreamingHttpResponse:
    """404 until a job has made it, if it needs one."""
    one, table = get_run(crawl_id, run), BY_NAME[data]
    if form == "zip" and form not in table.other_endings:
        raise Http404(f"There is no ZIP file of {table.label.lower()}.")
    try:
        return send(bulk_file(one, table, form, with_mark=mark))
    except (NotFound, ArchiveTrouble) as trouble:
        raise Http404(str(trouble)) from trouble


ROUTERS = (("/crawls", bulk, "results"),)
