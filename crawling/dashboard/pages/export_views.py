"""A run as a WACZ file or a mirror: its state, a button that has it made, and the file."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from crawling.dashboard.base.requests import wanted_run
from crawling.dashboard.pages.player import player_of
from crawling.errors import ArchiveTrouble
from crawling.exports.layout import read
from crawling.exports.rows import ask_export
from crawling.exports.state import ExportState, state_of
from crawling.models import Run
from crawling.models.datasets import ExportKind
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.downloads import Download, send
from serving.requests import render_live

TYPES: dict[str, str] = {ExportKind.WACZ: "application/wacz", ExportKind.MIRROR: "application/zip"}
#: why a crawl that was never started has nothing here
HAS_NOTHING = "nothing of it is archived"


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def show(request: AuthenticatedRequest, pk: int, export: ExportKind) -> HttpResponse:
    """The state of an export of a run; a POST has it made."""
    run = wanted_run(request, pk, HAS_NOTHING)
    if request.method == "POST":
        return _ask(request, run, export)
    here = {
        "crawl": run.crawl,
        "run": run,
        "export": state_of(run, export),
        "place": address_of(run, export),
        "file_place": f"{reverse(f'crawling:{export}-file', args=[pk])}?run={run.number}",
    }
    if export == ExportKind.WACZ:
        here["no_replay"] = player_of(request)[1]
    return render_live(request, f"crawling/{export}.html", "crawling/_export.html", here)


@needs("crawling.change_crawljob")
def _ask(request: AuthenticatedRequest, run: Run, export: ExportKind) -> HttpResponse:
    try:
        ask_export(run, export, by=request.user)
    except ArchiveTrouble as trouble:
        messages.error(request, str(trouble))
    return redirect(address_of(run, export))


@authenticated(needs="crawling.change_crawljob")
def file(request: AuthenticatedRequest, pk: int, export: ExportKind) -> HttpResponseBase:
    """The file of an export of a run, if it was made."""
    run = wanted_run(request, pk, HAS_NOTHING)
    try:
        return send(export_file(state_of(run, export)))
    except ArchiveTrouble as trouble:
        messages.error(request, str(trouble))
        return redirect(address_of(run, export))


def export_file(state: ExportState) -> Download:
    """Raises ArchiveTrouble if there is none."""
    row = state.file
    if row is None:
        missing = f"The {state.kind.label} of this run has not been made yet."
        raise ArchiveTrouble(state.trouble or missing)
    return Download(state.name, TYPES[state.kind], read(row, 0, row.bytes), row.bytes)


def address_of(run: Run, export: ExportKind) -> str:
    """Of the page about an export of a run."""
    return f"{reverse(f'crawling:{export}', args=[run.crawl_id])}?run={run.number}"
