"""Replay of a run, or of a page at its time."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from crawling.dashboard.base.requests import asked_number, wanted_page, wanted_run
from crawling.dashboard.pages.export_views import HAS_NOTHING, address_of
from crawling.dashboard.pages.player import player_address, player_of
from crawling.exports.state import state_of
from crawling.models.datasets import ExportKind
from crawling.wacz.access import PERMISSION, token_for
from serving.access import AuthenticatedRequest, authenticated

NOT_MADE = "ReplayWeb.page reads the WACZ file of the run; make it first."


@authenticated(needs=PERMISSION)
def replay(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Lead to ReplayWeb.page with the run, or with the page `?page=` at its time."""
    number = asked_number(request, "page")
    page = wanted_page(pk, number) if number else None
    run = page.run if page else wanted_run(request, pk, HAS_NOTHING)
    origin, trouble = player_of(request)
    row = state_of(run, ExportKind.WACZ).file
    if row is None or trouble:
        messages.error(request, trouble or NOT_MADE)
        return redirect(address_of(run, ExportKind.WACZ))
    return redirect(player_address(origin, run, token_for(request.user, row), page))
