"""Replay of a run, or of a page at its time."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from crawling.dashboard.base.requests import asked_number, wanted_page, wanted_run
from crawling.uses.exports.pages import HAS_NOTHING, address_of
from crawling.uses.exports.replay.player import no_player, player_address
from crawling.uses.exports.state import state_of
from crawling.uses.exports.wacz.access import PERMISSION, ticket_for
from crawling.uses.exports.wacz.jobs import WACZ
from serving.access import AuthenticatedRequest, authenticated

NOT_MADE = "ReplayWeb.page reads the WACZ file of the run; make it first."


@authenticated(needs=PERMISSION)
def replay(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Lead to ReplayWeb.page with the run, or with the page `?page=` at its time."""
    number = asked_number(request, "page")
    page = wanted_page(pk, number) if number else None
    run = page.run if page else wanted_run(request, pk, HAS_NOTHING)
    file, trouble = state_of(run, WACZ).file, no_player(request)
    if file is None or trouble:
        messages.error(request, trouble or NOT_MADE)
        return redirect(address_of(run, WACZ))
    return redirect(player_address(run, ticket_for(request.user, file), page))
