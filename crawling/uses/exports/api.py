"""`/api/v1/crawls/{id}/wacz`, `/mirror` and `/latest-mirror`: a run, or a crawl, as one file."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.http import Http404, StreamingHttpResponse
from ninja import Router
from pydantic import Field

from crawling.base.errors import ArchiveTrouble, WrongState
from crawling.dashboard.base.api_parameters import CrawlId, RunNumber, may_change, may_view
from crawling.dashboard.base.job_answers import (
    CancellableOut,
    Operation,
    cancelled_facts,
    job_endpoints,
)
from crawling.dashboard.base.requests import get_run
from crawling.jobs.kinds import JobKind
from crawling.models import Run
from crawling.uses.exports.jobs import LATEST_MIRROR, MIRROR, WACZ
from crawling.uses.exports.pages import TYPES, export_file
from crawling.uses.exports.player import PERMISSION as INSTALL
from crawling.uses.exports.player import install_player, player_state
from crawling.uses.exports.state import ExportState, request_export, state_of
from serving.access import AuthenticatedRequest, needs
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


def _request_export(kind: JobKind, run: Run, user: User) -> None:
    try:
        request_export(run, kind, by=user)
    except ArchiveTrouble as trouble:
        raise WrongState(str(trouble)) from trouble


def _state_row(kind: JobKind, run: Run) -> dict[str, Any]:
    return export_row(state_of(run, kind))


for kind, told, asked in (
    (
        WACZ,
        Operation("get_crawl_wacz", "Get the state of a run's WACZ file"),
        Operation("create_crawl_wacz", "Have a run's WACZ file made by a background job"),
    ),
    (
        MIRROR,
        Operation("get_crawl_mirror", "Get the state of a run's mirror"),
        Operation("create_crawl_mirror", "Have a run's mirror made by a background job"),
    ),
    (
        LATEST_MIRROR,
        Operation(
            "get_latest_mirror",
            "Get the state of the mirror of a crawl's latest pages",
            "The mirror has the newest stored document of each URL over all runs of the crawl.",
        ),
        Operation(
            "create_latest_mirror",
            "Have the mirror of a crawl's latest pages made by a background job",
        ),
    ),
):
    whose = "crawl" if kind.is_of_crawl else "run"
    job_endpoints(
        exports,
        f"/{{crawl_id}}/{kind.name}",
        ExportOut,
        partial(_state_row, kind),
        partial(_request_export, kind),
        told=told,
        asked=asked._replace(about=f"409 if nothing of the {whose} is archived on this machine."),
        of_crawl=kind.is_of_crawl,
    )


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
    return _send_export(crawl_id, run, WACZ)


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
    return _send_export(crawl_id, run, MIRROR)


@exports.get(
    "/{crawl_id}/latest-mirror/export",
    openapi_extra=_file(LATEST_MIRROR),
    summary="Export the latest pages of a crawl as a mirror: a ZIP file with pages for a browser",
)
@may_change
def export_latest_mirror(request: AuthenticatedRequest, crawl_id: CrawlId) -> StreamingHttpResponse:
    """404 until it is made."""
    return _send_export(crawl_id, None, LATEST_MIRROR)


def _send_export(crawl_id: int, run: int | None, kind: JobKind) -> StreamingHttpResponse:
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


replay = Router()


class PlayerOut(CancellableOut):
    version: str = Field(description="of ReplayWeb.page, which this version of crawlsite serves")
    is_installed: bool
    is_under_way: bool = Field(description="whether a background job installs it")
    obstacle: str = Field(description="why npm cannot fetch it; empty also for those who may not")
    trouble: str = Field(description="why the latest installation failed")


def _player_json(user: User) -> dict[str, Any]:
    state = player_state(user)
    cancelled = state.job if state.job and state.job.cancelled_at else None
    return {
        "version": state.version,
        "is_installed": state.is_installed,
        "is_under_way": state.under_way is not None,
        "obstacle": state.obstacle,
        "trouble": state.trouble,
        **cancelled_facts(cancelled),
    }


@replay.get("", response=PlayerOut, summary="Get the state of the program that replays pages")
@may_view
def get_player(request: AuthenticatedRequest) -> dict[str, Any]:
    """Without it pages are shown as archived; with it their scripts run, too."""
    return _player_json(request.user)


@replay.post(
    "/install", response=PlayerOut, summary="Have the program that replays pages installed"
)
@needs(INSTALL)
def install_replay_player(request: AuthenticatedRequest) -> dict[str, Any]:
    """A background job fetches it by npm, compares its checksum and unpacks it."""
    install_player(request.user)
    return _player_json(request.user)


ROUTERS = (("/crawls", exports, "results"), ("/replay", replay, "results"))
