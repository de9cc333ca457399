"""A user's preferences for the look and behaviour of pages, stored with the account for all
browsers: reading and changing them, their page, and the middleware that applies them to all pages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from allocation.wording import whole_number
from crawling.base.errors import BadOrder
from crawling.dashboard.base.requests import next_page, redirect_back
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.crawls.list_rows import HIDEABLE as CRAWL_COLUMNS
from crawling.dashboard.crawls.list_rows import USUALLY_HIDDEN
from crawling.dashboard.run.pages import HIDEABLE as PAGE_COLUMNS
from crawling.orders.schedules import UTC_ZONE, zone_named, zones
from crawlsite.models import Preference
from serving.access import AuthenticatedRequest, authenticated
from serving.list_choices import ListChoices
from serving.requests import wants_fragment

#: the seconds between two refreshes of a live page, with the words for them
REFRESHES = {1: "1 s", 2: "2 s", 5: "5 s", 15: "15 s", 60: "1 min", 0: "off"}
#: the value and the word of each theme and density, the usual one first
THEMES = {"auto": "Auto", "light": "Light", "dark": "Dark"}
DENSITIES = {"comfortable": "Comfortable", "compact": "Compact"}
#: the number of rows on a page; 0 for the usual number of each list
ROWS = {0: "usual", 25: "25", 50: "50", 100: "100", 200: "200"}
#: the columns of each list that can be hidden, by key, with their heads
COLUMNS: Mapping[str, Mapping[str, str]] = {"crawls": CRAWL_COLUMNS, "pages": PAGE_COLUMNS}
#: for each such list, the columns that are hidden until a user chooses
HIDDEN_AT_FIRST: Mapping[str, Collection[str]] = {"crawls": USUALLY_HIDDEN}
#: paths that use UTC and have no user
WITHOUT = ("/api/", "/shared/", "/healthz", "/readyz", "/metrics")
#: the route of each list whose last filter and sort are stored, with the list's name
LISTS = {"crawling:crawls": "crawls", "hosts:hosts": "hosts"}
#: parameters for the page of a list, which are not stored
PLACES = ("after", "before")
LONGEST = 1000
#: fields with a few choices: their label and their choices
FEW: Mapping[str, tuple[str, Mapping[Any, str]]] = {
    "theme": ("Theme", THEMES),
    "density": ("Density of tables", DENSITIES),
    "rows": ("Rows a page", ROWS),
    "refresh_seconds": ("Refresh of live pages", REFRESHES),
}
NUMBERS = ("rows", "refresh_seconds")
FIRST_STEPS = "hides_first_steps"


def preference_of(user: User | AnonymousUser) -> Preference:
    """A user's choice, or the default."""
    # a user without a row lacks this attribute
    return getattr(user, "preference", None) or Preference()


def change_preference(user: User, given: Mapping[str, Any]) -> None:
    """Store these fields on the account. Raises BadOrder."""
    told = {name: FAULTS[name](value) for name, value in given.items()}
    if faults := {name: fault for name, fault in told.items() if fault}:
        raise BadOrder(faults)
    Preference.objects.update_or_create(user=user, defaults=dict(given))


def store_filters(user: User, filters: Mapping[str, str]) -> None:
    """Store the last filter of each list. This usually takes one query, since each view of a list
    may change it.
    """
    if not Preference.objects.filter(user=user).update(filters=filters):
        Preference.objects.update_or_create(user=user, defaults={"filters": filters})


def _choice_check(choices: Collection[object], more: str = "") -> Callable[[Any], str]:
    names = ", ".join(map(str, choices))
    return lambda value: "" if value in choices else f"must be one of {names}{more}"


def _zone_fault(name: Any) -> str:
    return "" if name in zones() else "is no time zone; write one like Europe/Vienna, or UTC"


def _columns_fault(hidden: Any) -> str:
    for name, keys in hidden.items():
        if name not in COLUMNS:
            return f"{name} is no list whose columns can be hidden; {', '.join(COLUMNS)} are"
        if wrong := set(keys) - COLUMNS[name].keys():
            return f"{min(wrong)} is no column of {name}; there are {', '.join(COLUMNS[name])}"
    return ""


#: returns the fault of a value of each field; "" if it has none
FAULTS: Mapping[str, Callable[[Any], str]] = {
    "theme": _choice_check(THEMES),
    "density": _choice_check(DENSITIES),
    "refresh_seconds": _choice_check(REFRESHES, "; 0 is off"),
    "rows": _choice_check(ROWS, "; 0 is as each list usually has"),
    "time_zone": _zone_fault,
    "hidden_columns": _columns_fault,
    "hides_first_steps": _choice_check((True, False)),
}


class PreferenceMiddleware:
    """Middleware: pages are rendered in the user's time zone, with the user's preferences. A list's
    filter is stored, so that users return to it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        kept = None if request.path.startswith(WITHOUT) else _preference_of_request(request)
        if kept is None:
            return self.get_response(request)
        request.preference = kept  # type: ignore[attr-defined]
        request.list_choices = ListChoices(kept.rows, kept.hidden_columns)  # type: ignore[attr-defined]
        with timezone.override(zone_named(kept.time_zone) or UTC_ZONE):
            response = self.get_response(request)
        _store_filter(request, response, kept)
        return response


def _preference_of_request(request: HttpRequest) -> Preference | None:
    """The user's preference. None without a log-in, or if the database does not answer; the page
    reports that.
    """
    with suppress(DatabaseError):
        return preference_of(request.user) if request.user.is_authenticated else None
    return None


def _store_filter(request: HttpRequest, response: HttpResponse, kept: Preference) -> None:
    name = LISTS.get(request.resolver_match.view_name) if request.resolver_match else None
    if name is None or request.method != "GET" or response.status_code != 200:
        return
    if wants_fragment(request):
        return
    asked = {key: text for key, text in request.GET.items() if text and key not in PLACES}
    query = urlencode(asked)
    if len(query) <= LONGEST and query != kept.filters.get(name, ""):
        with suppress(DatabaseError):
            store_filters(cast("User", request.user), {**kept.filters, name: query})


def preferences_in_pages(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `refresh.seconds` and `refresh.choices`, `look.theme` and `look.density`
    with their choices, `look.filters`, which has the end of each list's address at the last view.

    If the middleware has not read them, the database is asked once, and only if a template shows
    one of them.
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


@authenticated(needs="", methods=("GET", "HEAD", "POST"))
def preferences_page(request: AuthenticatedRequest) -> HttpResponse:
    """Show all preferences. A POST stores them, or shows the mistakes beside the fields."""
    kept, errors = preference_of(request.user), {}
    values = {
        name: getattr(kept, name) for name in (*FEW, "time_zone", "hidden_columns", FIRST_STEPS)
    }
    if request.method == "POST":
        values = _posted_fields(request)
        try:
            change_preference(request.user, values)
        except BadOrder as error:
            errors = error.errors
        else:
            messages.success(request, "Your preferences are saved.")
            return redirect(next_page(request) or "preferences")
    elif zone_named(kept.time_zone) is None:
        errors = {"time_zone": f"{_zone_fault(kept.time_zone)}. Times are in UTC until then"}
    hidden = values["hidden_columns"]
    few = [
        (name, label, [(value, word, value == values[name]) for value, word in choices.items()])
        for name, (label, choices) in FEW.items()
    ]
    columns = [
        (
            name,
            [
                (key, head, key not in hidden.get(name, HIDDEN_AT_FIRST.get(name, ())))
                for key, head in heads.items()
            ],
        )
        for name, heads in COLUMNS.items()
    ]
    here = {"few": few, "columns": columns, "zone": values["time_zone"], "zones": sorted(zones())}
    here |= {"hides_first_steps": values["hides_first_steps"]}
    here |= {"errors": errors, "next": request.GET.get("next", request.POST.get("next", ""))}
    is_refused = bool(errors) and request.method == "POST"
    return render(request, "account/preferences.html", here, status=422 if is_refused else 200)


def _posted_fields(request: HttpRequest) -> dict[str, Any]:
    """The fields in the form. A column that is not ticked is hidden."""
    given: dict[str, Any] = {name: request.POST.get(name, "") for name in (*FEW, "time_zone")}
    given["time_zone"] = given["time_zone"].strip()
    for name in NUMBERS:
        given[name] = whole_number(given[name], most_digits=4)
    given["hidden_columns"] = {
        name: [key for key in heads if key not in request.POST.getlist(f"columns-{name}")]
        for name, heads in COLUMNS.items()
    }
    given[FIRST_STEPS] = "first_steps" not in request.POST
    return given


@authenticated(needs="", methods=("POST",))
def store_refresh_seconds(request: AuthenticatedRequest) -> HttpResponse:
    """Store the interval of live pages.

    Only pace.js sends this, since without scripts no page is live.
    """
    try:
        change_preference(
            request.user,
            {
                "refresh_seconds": whole_number(
                    request.POST.get("refresh_seconds", ""), most_digits=4
                )
            },
        )
    except BadOrder as error:
        return HttpResponse(str(error), status=422, content_type="text/plain; charset=utf-8")
    return HttpResponse(status=204)


@authenticated(needs="", methods=("POST",))
def store_look(request: AuthenticatedRequest) -> HttpResponse:
    """Store the chosen `theme` or `density`, or whether the first steps are hidden, and show the
    page again.
    """
    given: dict[str, Any] = {
        name: request.POST[name] for name in ("theme", "density") if name in request.POST
    }
    if FIRST_STEPS in request.POST:
        given[FIRST_STEPS] = request.POST[FIRST_STEPS] == "1"
    with errors_told(request, BadOrder):
        change_preference(request.user, given)
    return redirect_back(request)
