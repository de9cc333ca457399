"""`/api/v1/crawls/{id}/pages/{page}`, `…/archive-files`: a page with its record in the archive, and
the archive's files; `/api/v1/disk`: their size.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet
from ninja import Path, Router
from pydantic import Field

from crawling.archive.selection import referring_runs
from crawling.archive.viewer import head_of
from crawling.base.errors import ArchiveTrouble
from crawling.dashboard.base.api_parameters import LARGEST, CrawlId, may_view
from crawling.dashboard.base.requests import get_crawl, get_page
from crawling.dashboard.pages.downloads import row_of
from crawling.dashboard.run.api.finding_schemas import PageOut
from crawling.models import ArchiveFile
from crawling.runs.housekeeping.disk import disk_now, forecast_of
from crawling.web.secret_headers import masked_head
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import listed
from serving.listing.sources import QueryList
from serving.schemas import Schema

archive = Router()
disk = Router()


class RenditionOut(Schema):
    seconds: float
    requests: int
    bytes: int
    memory_bytes: int = Field(description="the most that the page had")
    is_partial: bool = Field(description="it was read before its scripts were quiet")
    console: list[str] = Field(description="the first messages in the console")
    failed: list[tuple[str, str]] = Field(
        description="the first failed requests: the address, and an HTTP status or a reason"
    )


class PageDetailOut(PageOut):
    run: int = Field(description="number of the run that fetched it")
    rendition: RenditionOut | None = Field(
        description="what a browser noted that rendered it; null: none did"
    )
    record_header: str = Field(description="header of its archive record; empty: see `trouble`")
    response_head: str = Field(
        description="status line and headers of the answer; secrets are masked for viewers"
    )
    trouble: str = Field(description="why the record cannot be read; empty: it can")


class ArchiveFileOut(Schema):
    id: int
    run: int
    name: str
    machine: str
    bytes: int = Field(description="bytes of its records; the file may still grow")
    opened_at: datetime
    sealed_at: datetime | None = Field(description="null: the file may still grow")
    refers_to_other_runs: bool = Field(
        description="records of its run refer to payloads in archives of other runs; the WARC file "
        "of all pages of the run is complete"
    )


@archive.get(
    "/{crawl_id}/pages/{page_id}",
    response=PageDetailOut,
    summary="Get a page with its archived headers",
)
@may_view
def get_crawl_page(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    page_id: Annotated[int, Path(ge=1, le=LARGEST)],
) -> dict[str, Any]:
    page = get_page(crawl_id, page_id)
    header, head, trouble = "", "", ""
    try:
        header, head = head_of(page)
    except ArchiveTrouble as error:
        trouble = str(error)
    if not request.user.has_perm("crawling.change_crawljob"):
        head = masked_head(head)
    record = {"record_header": header, "response_head": head, "trouble": trouble}
    beside = {"run": page.run.number, "rendition": page.rendition}
    return {**row_of(page), **beside, **record}


def _files(rows: list[ArchiveFile]) -> Iterator[dict[str, Any]]:
    referring = referring_runs({row.run_id for row in rows if row.run_id})
    for row in rows:
        facts = {name: getattr(row, name) for name in ("name", "machine", "opened_at", "sealed_at")}
        yield {
            "id": row.pk,
            "run": row.run.number if row.run else 0,
            "bytes": row.committed_length,
            "refers_to_other_runs": row.run_id in referring,
            **facts,
        }


@listed(
    archive,
    "/{crawl_id}/archive-files",
    QueryList(ArchiveFileOut, read=_files),
    summary="List archive files of a crawl, latest first",
)
@may_view
def list_archive_files(request: AuthenticatedRequest, crawl_id: CrawlId) -> QuerySet[ArchiveFile]:
    found = ArchiveFile.objects.filter(run__crawl=get_crawl(crawl_id), committed_length__gt=0)
    return found.select_related("run")


class DiskOut(Schema):
    """Bytes; growth is a day's, over the last week at most, and null while there is less than a day
    of measurements.
    """

    machine: str
    total: int
    free: int
    archive: int = Field(description="in the archive files of this machine")
    database: int
    measured_since: datetime | None
    archive_a_day: float | None
    database_a_day: float | None
    used_a_day: float | None = Field(description="decrease of free space per day, from any cause")
    full_at: datetime | None = Field(
        description="at the present rate; null also if that is more than ten years"
    )


@disk.get("", response=DiskOut, summary="Get disk usage and forecast")
@may_view
def get_disk(request: AuthenticatedRequest) -> DiskOut:
    now = disk_now()
    told, since = forecast_of(now)
    return DiskOut(
        machine=now.machine,
        total=now.total,
        free=now.free,
        archive=now.archive,
        database=now.database,
        measured_since=since,
        archive_a_day=told.archive_a_day if told else None,
        database_a_day=told.database_a_day if told else None,
        used_a_day=told.used_a_day if told else None,
        full_at=told.full_at if told else None,
    )
