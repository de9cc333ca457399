"""What the frame of every page lets somebody choose."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from crawling.errors import BadOrder
from crawlsite.preferences import set_refresh


@require_POST
@login_required
def keep_refresh(request: HttpRequest) -> HttpResponse:
    """Keep how often live pages ask anew.

    Only pace.js asks for it: without scripts no page is live.
    """
    assert isinstance(request.user, User)
    try:
        set_refresh(request.user, request.POST.get("refresh_seconds", ""))
    except BadOrder as error:
        return HttpResponse(str(error), status=422, content_type="text/plain; charset=utf-8")
    return HttpResponse(status=204)
