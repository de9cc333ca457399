"""What the frame of every page lets somebody choose."""

from __future__ import annotations

from django.http import HttpResponse

from crawling.errors import BadOrder
from crawlsite.preferences import set_refresh
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
