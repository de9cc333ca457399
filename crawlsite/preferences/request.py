"""Preferences where pages need them: the time zone, lists' rows and columns, each list's last
filter, and what every page's frame shows of them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from crawlsite.models import Preference
from crawlsite.preferences.store import DENSITIES, REFRESHES, THEMES, keep_filters, preference_of
from serving.fragments import wants_fragment
from serving.list_choices import ListChoices

#: paths that use UTC and have no user
WITHOUT = ("/api/", "/shared/", "/healthz", "/readyz", "/metrics")
#: route of each list whose last filter and sort are kept -> its name
LISTS = {"crawling:crawls": "crawls", "hosts:hosts": "hosts"}
#: the page of a list is not kept
PLACES = ("after", "before")
LONGEST = 1000


class PreferenceMiddleware:
    """Middleware: pages are rendered in the user's time zone, with the user's preferences; a list's
    filter is kept for the way back to it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        kept = None if request.path.startswith(WITHOUT) else _preference(request)
        if kept is None:
            return self.get_response(request)
        request.preference = kept  # type: ignore[attr-defined]
        request.list_choices = ListChoices(kept.rows, kept.hidden_columns)  # type: ignore[attr-defined]
        with timezone.override(ZoneInfo(kept.time_zone)):
            response = self.get_response(request)
        _keep_filter(request, response, kept)
        return response


def _preference(request: HttpRequest) -> Preference | None:
    """None: no log-in, or the database does not answer, which the page itself reports."""
    with suppress(DatabaseError):
        return preference_of(request.user) if request.user.is_authenticated else None
    return None


def _keep_filter(request: HttpRequest, response: HttpResponse, kept: Preference) -> None:
    name = LISTS.get(request.resolver_match.view_name) if request.resolver_match else None
    if name is None or request.method != "GET" or response.status_code != 200:
        return
    if wants_fragment(request):
        return
    asked = {key: text for key, text in request.GET.items() if text and key not in PLACES}
    query = urlencode(asked)
    if len(query) <= LONGEST and query != kept.filters.get(name, ""):
        with suppress(DatabaseError):
            keep_filters(cast("User", request.user), {**kept.filters, name: query})


def preferences(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `refresh.seconds` and `refresh.choices`, `look.theme` and `look.density`
    with their choices, `look.filters`: the end of the address of each list, as it was seen last.

    Without the middleware's answer the database is asked once, and only by templates that show one
    of them.
    """
    kept: Any = getattr(request, "preference", None) or SimpleLazyObject(
        lambda: preference_of(request.user)
    )
    return {
        "refresh": SimpleLazyObject(
            lambda: {"seconds": kept.refresh_seconds, "choices": REFRESHES.items()}
        ),
        "look": SimpleLazyObject(
            lambda: {
                "theme": kept.theme,
                "density": kept.density,
                "themes": THEMES.items(),
                "densities": DENSITIES.items(),
                "filters": {name: f"?{text}" for name, text in kept.filters.items() if text},
            }
        ),
    }
