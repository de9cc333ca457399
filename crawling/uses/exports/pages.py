"""A run as a WACZ file or a mirror, or a mirror of a crawl's latest pages: its state, a button that
has it made, and the file.
"""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from crawling.base.errors import ArchiveTrouble
from crawling.dashboard.base.requests import wanted_run
from crawling.dashboard.base.trouble import errors_told
from crawling.jobs.kinds import JobKind
from crawling.models import Run
from crawling.uses.exports.reading import read
from crawling.uses.exports.replay.player import no_player
from crawling.uses.exports.rows import ask_export
from crawling.uses.exports.state import ExportState, state_of
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.downloads import Download, send
from serving.requests import render_live

#: by the names of kinds
TYPES = {
    "wacz": "application/wacz",
    "mirror": "application/zip",
    "latest-mirror": "application/zip",
}
#: why a crawl that was never started has nothing here
HAS_NOTHING = "nothing of it is archived"


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def show(request: AuthenticatedRequest, pk: int, export: JobKind) -> HttpResponse:
    run = _run(request, pk, export)
    if request.method == "POST":
        return _ask(request, run, export)
    here = {
        "crawl": run.crawl,
        "run": run,
        "export": state_of(run, export),
        "place": address_of(run, export),
        "file_place": address_of(run, export, of="-file"),
    }
    if export.name == "wacz":
        here["no_replay"] = no_player(request)
    page = f"exports/{export.name.replace('-', '_')}.html"
    return render_live(request, page, "exports/_export.html", here)


def _run(request: AuthenticatedRequest, pk: int, export: JobKind) -> Run:
    """The run asked for, or of an export of the whole crawl the latest."""
    run = wanted_run(request, pk, HAS_NOTHING)
    return (run.crawl.runs.first() or run) if export.is_of_crawl else run


@needs("crawling.change_crawljob")
def _ask(request: AuthenticatedRequest, run: Run, export: JobKind) -> HttpResponse:
    with errors_told(request, ArchiveTrouble):
        ask_export(run, export, by=request.user)
    return redirect(address_of(run, export))


@authenticated(needs="crawling.change_crawljob")
def file(request: AuthenticatedRequest, pk: int, export: JobKind) -> HttpResponseBase:
    run = _run(request, pk, export)
    with errors_told(request, ArchiveTrouble):
        return send(export_file(state_of(run, export)))
    return redirect(address_of(run, export))


def export_file(state: ExportState) -> Download:
    """Raises ArchiveTrouble if there is none."""
    file = state.file
    if file is None:
        whose = "crawl" if state.kind.is_of_crawl else "run"
        missing = f"The {state.kind.label} of this {whose} has not been made yet."
        raise ArchiveTrouble(state.trouble or missing)
    return Download(state.name, TYPES[state.kind.name], read(file, 0, file.bytes), file.bytes)


def address_of(run: Run, export: JobKind, *, of: str = "") -> str:
    """The address of the page about an export of a run, or, with of="-file", of its file."""
    address = reverse(f"crawling:{export.name}{of}", args=[run.crawl_id])
    return address if export.is_of_crawl else f"{address}?run={run.number}"
