"""`/api/v1/crawls/{id}/wacz`: a run as a WACZ file."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from datetime import datetime
from typing import Any

from django.http import Http404, StreamingHttpResponse
from ninja import Router, Schema, Status
from pydantic import Field

from crawling.dashboard.base.api_parameters import CrawlId, RunNumber, may_change, may_view
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.pages.wacz_views import TYPE, wacz_file
from crawling.errors import ArchiveTrouble, WrongState
from crawling.wacz.files import ask_wacz
from crawling.wacz.state import WaczState, state_of
from serving.access import AuthenticatedRequest
from serving.downloads import send

wacz = Router()
FILE: dict[str, Any] = {
    "responses": {
        200: {
            "description": "A WACZ file",
            "content": {TYPE: {"schema": {"type": "string", "format": "binary"}}},
        }
    }
}


class WaczOut(Schema):
    run: int = Field(description="number of the run")
    name: str
    is_ready: bool = Field(description="whether it can be exported")
    is_under_way: bool = Field(description="whether a background job writes one")
    is_outdated: bool = Field(description="the run has archived more since it was asked for")
    asked_at: datetime | None = Field(description="when the one was asked for that is ready")
    bytes: int | None
    pages: int | None
    trouble: str = Field(description="why the latest could not be written, or is no longer given")


@wacz.get("/{crawl_id}/wacz", response=WaczOut, summary="Get the state of a run's WACZ file")
@may_view
def get_crawl_wacz(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> dict[str, Any]:
    return wacz_row(state_of(get_run(crawl_id, run)))


@wacz.post(
    "/{crawl_id}/wacz",
    response={202: WaczOut},
    summary="Have a run's WACZ file made by a background job",
)
@may_change
def create_crawl_wacz(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> Status[dict[str, Any]]:
    """409 if nothing of the run is archived on this machine."""
    one = get_run(crawl_id, run)
    try:
        ask_wacz(one, by=request.user)
    except ArchiveTrouble as trouble:
        raise WrongState(str(trouble)) from trouble
    return Status(202, wacz_row(state_of(one)))


@wacz.get("/{crawl_id}/wacz/export", openapi_extra=FILE, summary="Export a run as a WACZ file")
@may_change
def export_crawl_wacz(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> StreamingHttpResponse:
    """404 until it is made."""
    try:
        return send(wacz_file(state_of(get_run(crawl_id, run))))
    except ArchiveTrouble as trouble:
        raise Http404(str(trouble)) from trouble


def wacz_row(state: WaczState) -> dict[str, Any]:
    return {
        "run": state.run.number,
        "name": state.name,
        "is_ready": state.file is not None,
        "is_under_way": state.under_way is not None,
        "is_outdated": state.is_outdated,
        "asked_at": state.file.asked_at if state.file else None,
        "bytes": state.file.bytes if state.file else None,
        "pages": state.file.pages if state.file else None,
        "trouble": state.trouble,
    }
