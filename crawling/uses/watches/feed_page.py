"""The feed of a watch, for feed readers, which have no account."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from crawling.uses.watches.api import feed_address
from crawling.uses.watches.feed import atom, watch_of
from serving.visitors import HEADERS, exceeds_shared_reports, seconds_left

TYPE = "application/atom+xml; charset=utf-8"


@require_safe
@sensitive_variables("token")
def feed(request: HttpRequest, token: str) -> HttpResponse:
    """The events of the watch that the token opens; an unknown token and one that was renewed are
    answered alike.
    """
    if exceeds_shared_reports(request):
        again = {"Retry-After": str(seconds_left())}
        return HttpResponse("Too many requests; try again later.", status=429, headers=again)
    watch = watch_of(token)
    if watch is None:
        return HttpResponse("This address opens no feed.", status=404, headers=HEADERS)
    text = atom(watch, feed_address(watch))
    return HttpResponse(text, headers=HEADERS, content_type=TYPE)
