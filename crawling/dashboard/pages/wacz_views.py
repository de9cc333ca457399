"""A run as a WACZ file: its state, a button that has it made, and the file."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from crawling.dashboard.base.requests import wanted_run
from crawling.dashboard.pages.player import player_of
from crawling.errors import ArchiveTrouble
from crawling.models import Run
from crawling.wacz.files import ask_wacz
from crawling.wacz.layout import read
from crawling.wacz.state import WaczState, state_of
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.downloads import Download, send
from serving.requests import render_live

TYPE = "application/wacz"
#: why a crawl that was never started has nothing here
HAS_NOTHING = "nothing of it is archived"


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def show(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """The state of a run's WACZ file; a POST has it made."""
    run = wanted_run(request, pk, HAS_NOTHING)
    if request.method == "POST":
        return _ask(request, run)
    here = {"crawl": run.crawl, "run": run, "wacz": state_of(run)}
    here["trouble"] = player_of(request)[1]
    return render_live(request, "crawling/wacz.html", "crawling/_wacz.html", here)


@needs("crawling.change_crawljob")
def _ask(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    try:
        ask_wacz(run, by=request.user)
    except ArchiveTrouble as trouble:
        messages.error(request, str(trouble))
    return redirect(address_of(run))


@authenticated(needs="crawling.change_crawljob")
def file(request: AuthenticatedRequest, pk: int) -> HttpResponseBase:
    """The WACZ file of a run, if it was made."""
    run = wanted_run(request, pk, HAS_NOTHING)
    try:
        return send(wacz_file(state_of(run)))
    except ArchiveTrouble as trouble:
        messages.error(request, str(trouble))
        return redirect(address_of(run))


def wacz_file(state: WaczState) -> Download:
    """Raises ArchiveTrouble if there is none."""
    row = state.file
    if row is None:
        raise ArchiveTrouble(state.trouble or "The WACZ file of this run has not been made yet.")
    return Download(state.name, TYPE, read(row, 0, row.bytes), row.bytes)


def address_of(run: Run) -> str:
    """Of the page about a run's WACZ file."""
    return f"{reverse('crawling:wacz', args=[run.crawl_id])}?run={run.number}"
