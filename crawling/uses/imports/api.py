"""`/api/v1/imports`: WARC and WACZ files that become runs."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import LARGEST, Cursor, Limit, may_add, may_view
from crawling.dashboard.base.job_answers import CancellableOut, job_facts
from crawling.jobs.cancel import cancel_job
from crawling.models import BackgroundJob
from crawling.uses.imports.import_jobs import (
    MOST_FILES,
    find_import,
    offered_files,
    request_import,
)
from crawling.uses.imports.jobs import ArchiveImport, requested_imports
from serving.access import AuthenticatedRequest
from serving.paging import rows_and_next
from serving.schemas import Schema

imports = Router()
ImportId = Annotated[int, Path(ge=1, le=LARGEST, description="`id` of the list")]


class ImportIn(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"files": ["books.wacz"]}]}
    )
    files: list[Annotated[str, Field(max_length=255)]] = Field(
        min_length=1,
        max_length=MOST_FILES,
        description="names of files in IMPORT_DIR, which become one run",
    )
    name: str = Field("", description="of the crawl; default: by the first file")


class ImportOut(CancellableOut):
    id: int
    files: list[str]
    name: str = Field(description="of the crawl, as asked for")
    by: str
    asked_at: datetime
    ended_at: datetime | None
    state: Literal["waiting", "reading", "storing", "imported", "cancelled", "failed"]
    bytes: int = Field(description="of the files")
    read_bytes: int = Field(description="of them, so far")
    answers: int = Field(description="found in what was read")
    crawl: int | None = Field(description="id of the crawl that has the run")
    pages: int = Field(description="of the run")
    left_out: dict[str, int] = Field(description="records that are not in the run, by the reason")
    remarks: dict[str, int] = Field(
        description="records that are in the run though something about them is amiss, by what"
    )
    trouble: str = Field(description="why there is no run")


class ImportPage(Schema):
    items: list[ImportOut]
    next: int | None
    offered: dict[str, int] = Field(description="files in IMPORT_DIR, with their sizes in bytes")


@imports.get("", response=ImportPage, summary="List imports, the latest first, and files to import")
@may_view
def list_imports(
    request: AuthenticatedRequest, cursor: Cursor = None, limit: Limit = 50
) -> dict[str, Any]:
    found = requested_imports()
    rows, following = rows_and_next(found if cursor is None else found.filter(pk__lt=cursor), limit)
    return {"items": list(map(import_row, rows)), "next": following, "offered": offered_files()}


@imports.get("/{import_id}", response=ImportOut, summary="Get an import")
@may_view
def get_import(request: AuthenticatedRequest, import_id: ImportId) -> dict[str, Any]:
    return import_row(find_import(import_id))


@imports.post("", response={202: ImportOut}, summary="Import files by a background job")
@may_add
def create_import(
    request: AuthenticatedRequest, asked: Annotated[ImportIn, Body()]
) -> Status[dict[str, Any]]:
    return Status(202, import_row(request_import(asked.files, asked.name, by=request.user)))


@imports.post("/{import_id}/cancel", response=ImportOut, summary="Cancel an import")
@may_add
def cancel_archive_import(request: AuthenticatedRequest, import_id: ImportId) -> dict[str, Any]:
    """The import ends within seconds, and nothing is left of it; 409 if it has ended."""
    return import_row(cancel_job(find_import(import_id), by=request.user))


COPIED = (
    *("state", "files", "name", "bytes", "read_bytes", "answers"),
    *("pages", "left_out", "remarks"),
)


def import_row(job: BackgroundJob) -> dict[str, Any]:
    asked = ArchiveImport.from_job(job)
    copied = {name: getattr(asked, name) for name in COPIED}
    return {**job_facts(job), "crawl": job.run.crawl_id if job.run else None, **copied}


ROUTERS = (("/imports", imports, "crawls"),)
