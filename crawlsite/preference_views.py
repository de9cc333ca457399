"""What the frame of every page lets somebody choose."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse

from crawling.dashboard.base.requests import back
from crawling.errors import BadOrder
from crawlsite.preferences import set_look, set_refresh
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="", methods=("POST",))
def keep_refresh(request: AuthenticatedRequest) -> HttpResponse:
    """Keep how often live pages ask anew.

    Only pace.js asks for it: without scripts no page is live.
    """
    try:
        set_refresh(request.user, request.POST.get("refresh_seconds", ""))
    except BadOrder as error:
        return HttpResponse(str(error), status=422, content_type="text/plain; charset=utf-8")
    return HttpResponse(status=204)


@authenticated(needs="", methods=("POST",))
def keep_look(request: AuthenticatedRequest) -> HttpResponse:
    """Keep the `theme` or the `density` that somebody chose, and show the page again."""
    try:
        set_look(request.user, theme=request.POST.get("theme"), density=request.POST.get("density"))
    except BadOrder as error:
        messages.error(request, str(error))
    return back(request)
