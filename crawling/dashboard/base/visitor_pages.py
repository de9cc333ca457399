"""Pages for people without an account, at addresses that are secrets: the same for all visitors,
and so many at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from threading import BoundedSemaphore
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from serving.visitors import HEADERS, exceeds_shared_reports, seconds_left

P = ParamSpec("P")
#: pages that may take ten seconds of a processor and that strangers wait for at once: users have
#: threads left
PAGES = BoundedSemaphore(max(1, settings.WEB_THREADS // 4))
AGAIN_SECONDS = 10


def for_visitors(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Guard a page with a secret `token` in its address: 429 for an address that has opened too
    many in this minute.
    """

    @require_safe
    @sensitive_variables("args", "kwargs")
    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if exceeds_shared_reports(request):
            refusal = visitor_page("shared/too_many.html", {}, status=429)
            refusal["Retry-After"] = str(seconds_left())
            return refusal
        return view(request, *args, **kwargs)

    return guarded


def visitor_page(template: str, facts: Mapping[str, Any], status: int = 200) -> HttpResponse:
    """Rendered without the request: a logged-in user gets neither navigation nor messages here."""
    return HttpResponse(render_to_string(template, dict(facts)), status=status, headers=HEADERS)


def nothing_here() -> HttpResponse:
    """The answer to tokens that open nothing, whatever the reason."""
    return visitor_page("shared/nothing.html", {}, status=404)


def busy_answer() -> HttpResponse:
    answer = visitor_page("shared/too_many.html", {}, status=503)
    answer["Retry-After"] = str(AGAIN_SECONDS)
    return answer
