"""How somebody likes the pages to look and behave: kept on the account, so that it holds in every
browser, as the frame of every page lets it be chosen.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from crawling.dashboard.base.requests import back
from crawling.errors import BadOrder
from crawlsite.models import Preference
from serving.access import AuthenticatedRequest, authenticated

#: seconds between two refreshes of a live page, and the words for it
REFRESHES = {1: "1 s", 2: "2 s", 5: "5 s", 15: "15 s", 60: "1 min", 0: "off"}
#: value and word of each theme and density, the usual one first
THEMES = {"auto": "Auto", "light": "Light", "dark": "Dark"}
DENSITIES = {"comfortable": "Comfortable", "compact": "Compact"}


def preference_of(user: User | AnonymousUser) -> Preference:
    """What somebody chose, or what is usual."""
    return Preference.objects.filter(user=user.pk).first() or Preference()


def set_refresh(user: User, seconds: str) -> int:
    """Keep it on the account. Raises BadOrder for what cannot be chosen."""
    chosen = next((one for one in REFRESHES if str(one) == seconds), None)
    if chosen is None:
        raise BadOrder(
            {"refresh_seconds": f"must be one of {', '.join(map(str, REFRESHES))}; 0 is off"}
        )
    Preference.objects.update_or_create(user=user, defaults={"refresh_seconds": chosen})
    return chosen


def set_look(user: User, *, theme: str | None = None, density: str | None = None) -> None:
    """Keep what is given on the account. Raises BadOrder for what cannot be chosen."""
    asked = {"theme": (theme, THEMES), "density": (density, DENSITIES)}
    given = {name: value for name, (value, _) in asked.items() if value is not None}
    faults = {
        name: f"must be one of {', '.join(choices)}"
        for name, (value, choices) in asked.items()
        if value is not None and value not in choices
    }
    if faults:
        raise BadOrder(faults)
    Preference.objects.update_or_create(user=user, defaults=given)


def preferences(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `refresh.seconds` and `refresh.choices`, `look.theme` and `look.density`
    with their choices.

    The database is asked once, and only by templates that show one of them.
    """
    kept = SimpleLazyObject(lambda: preference_of(request.user))
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
            }
        ),
    }


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
