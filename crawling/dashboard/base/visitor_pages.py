"""Pages for people without an account, at secret addresses. They look the same for all visitors,
and only so many are opened at a time.
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
#: the places for pages that may take ten seconds of processor time; strangers can occupy only
#: these, so users have threads left
PAGES = BoundedSemaphore(max(1, settings.WEB_THREADS // 4))
AGAIN_SECONDS = 10


def for_visitors(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Guard a page with a secret `token` in its address. A client that has opened too many in this
    minute gets 429.
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
    """A page that is rendered without the request, so that a logged-in user gets neither navigation
    nor messages.
    """
    return HttpResponse(render_to_string(template, dict(facts)), status=status, headers=HEADERS)


def nothing_here() -> HttpResponse:
    """The answer for tokens that open nothing, the same for every reason."""
    return visitor_page("shared/nothing.html", {}, status=404)


def busy_answer() -> HttpResponse:
    answer = visitor_page("shared/too_many.html", {}, status=503)
    answer["Retry-After"] = str(AGAIN_SECONDS)
    return answer
