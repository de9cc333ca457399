"""`/api/v1/crawls/{id}/wacz`, `/mirror` and `/latest-mirror`: a run, or a crawl, as one file."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from datetime import datetime
from typing import Any

from django.http import Http404, StreamingHttpResponse
from ninja import Router, Status
from pydantic import Field

from crawling.base.errors import ArchiveTrouble, WrongState
from crawling.dashboard.base.api_parameters import CrawlId, RunNumber, may_change, may_view
from crawling.dashboard.base.api_schemas import CancellableOut, cancelled_facts
from crawling.dashboard.base.requests import get_run
from crawling.jobs.kinds import JobKind
from crawling.uses.exports.mirror.jobs import LATEST_MIRROR, MIRROR
from crawling.uses.exports.pages import TYPES, export_file
from crawling.uses.exports.rows import request_export
from crawling.uses.exports.state import ExportState, state_of
from crawling.uses.exports.wacz.jobs import WACZ
from serving.access import AuthenticatedRequest
from serving.downloads import send

exports = Router()


def _file(kind: JobKind) -> dict[str, Any]:
    schema = {"type": "string", "format": "binary"}
    content = {TYPES[kind.name]: {"schema": schema}}
    return {"responses": {200: {"description": f"A {kind.label}", "content": content}}}


class ExportOut(CancellableOut):
    run: int = Field(description="number of the run, or of the latest")
    name: str
    is_ready: bool = Field(description="whether it can be exported")
    is_under_way: bool = Field(description="whether a background job writes one")
    is_outdated: bool = Field(description="the run has archived more since it was asked for")
    asked_at: datetime | None = Field(description="when the one was asked for that is ready")
    bytes: int | None
    pages: int | None
    missing: int = Field(description="documents that this server's archive does not have")
    trouble: str = Field(description="why the latest could not be written, or is no longer given")


@exports.get("/{crawl_id}/wacz", response=ExportOut, summary="Get the state of a run's WACZ file")
@may_view
def get_crawl_wacz(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> dict[str, Any]:
    return export_row(state_of(get_run(crawl_id, run), WACZ))


@exports.get("/{crawl_id}/mirror", response=ExportOut, summary="Get the state of a run's mirror")
@may_view
def get_crawl_mirror(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> dict[str, Any]:
    return export_row(state_of(get_run(crawl_id, run), MIRROR))


@exports.get(
    "/{crawl_id}/latest-mirror",
    response=ExportOut,
    summary="Get the state of the mirror of a crawl's latest pages",
)
@may_view
def get_latest_mirror(request: AuthenticatedRequest, crawl_id: CrawlId) -> dict[str, Any]:
    """The mirror has the newest stored document of each URL over all runs of the crawl."""
    return export_row(state_of(get_run(crawl_id, None), LATEST_MIRROR))


@exports.post(
    "/{crawl_id}/wacz",
    response={202: ExportOut},
    summary="Have a run's WACZ file made by a background job",
)
@may_change
def create_crawl_wacz(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> Status[dict[str, Any]]:
    """409 if nothing of the run is archived on this machine."""
    return _asked(request, crawl_id, run, WACZ)


@exports.post(
    "/{crawl_id}/mirror",
    response={202: ExportOut},
    summary="Have a run's mirror made by a background job",
)
@may_change
def create_crawl_mirror(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> Status[dict[str, Any]]:
    """409 if nothing of the run is archived on this machine."""
    return _asked(request, crawl_id, run, MIRROR)


@exports.post(
    "/{crawl_id}/latest-mirror",
    response={202: ExportOut},
    summary="Have the mirror of a crawl's latest pages made by a background job",
)
@may_change
def create_latest_mirror(
    request: AuthenticatedRequest, crawl_id: CrawlId
) -> Status[dict[str, Any]]:
    """409 if nothing of the crawl is archived on this machine."""
    return _asked(request, crawl_id, None, LATEST_MIRROR)


def _asked(
    request: AuthenticatedRequest, crawl_id: int, run: int | None, kind: JobKind
) -> Status[dict[str, Any]]:
    one = get_run(crawl_id, run)
    try:
        request_export(one, kind, by=request.user)
    except ArchiveTrouble as trouble:
        raise WrongState(str(trouble)) from trouble
    return Status(202, export_row(state_of(one, kind)))


@exports.get(
    "/{crawl_id}/wacz/export",
    openapi_extra=_file(WACZ),
    summary="Export a run as a WACZ file",
)
@may_change
def export_crawl_wacz(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> StreamingHttpResponse:
    """404 until it is made."""
    return _sent(crawl_id, run, WACZ)


@exports.get(
    "/{crawl_id}/mirror/export",
    openapi_extra=_file(MIRROR),
    summary="Export a run as a mirror: a ZIP file with pages for a browser",
)
@may_change
def export_crawl_mirror(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> StreamingHttpResponse:
    """404 until it is made."""
    return _sent(crawl_id, run, MIRROR)


@exports.get(
    "/{crawl_id}/latest-mirror/export",
    openapi_extra=_file(LATEST_MIRROR),
    summary="Export the latest pages of a crawl as a mirror: a ZIP file with pages for a browser",
)
@may_change
def export_latest_mirror(request: AuthenticatedRequest, crawl_id: CrawlId) -> StreamingHttpResponse:
    """404 until it is made."""
    return _sent(crawl_id, None, LATEST_MIRROR)


def _sent(crawl_id: int, run: int | None, kind: JobKind) -> StreamingHttpResponse:
    try:
        return send(export_file(state_of(get_run(crawl_id, run), kind)))
    except ArchiveTrouble as trouble:
        raise Http404(str(trouble)) from trouble


def export_row(state: ExportState) -> dict[str, Any]:
    file = state.file
    return {
        "run": state.run.number,
        "name": state.name,
        "is_ready": file is not None,
        "is_under_way": state.under_way is not None,
        "is_outdated": state.is_outdated,
        "asked_at": file.asked_at if file else None,
        "bytes": file.bytes if file else None,
        "pages": file.pages if file else None,
        "missing": state.missing,
        "trouble": state.trouble,
        **cancelled_facts(state.cancelled),
    }


ROUTERS = (("/crawls", exports, "results"),)
