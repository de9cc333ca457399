"""Refreshes of a page bring its alarms along, so that one that begins or ends meanwhile shows."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

#: what live.js asks anew
LIVE = "live"


class RefreshAlarmsMiddleware:
    """Middleware: adds the banner of every page to the answer for its part that is live. live.js
    takes it out and puts it in its place.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if (
            request.headers.get("HX-Target") == LIVE
            and response.status_code == 200
            and not response.streaming
        ):
            response.write(render_to_string("_alarms_now.html", request=request))
        return response
