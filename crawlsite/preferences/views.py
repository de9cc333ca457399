"""The page of one's preferences, and the ways in which the frame of every page changes single
ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from allocation.wording import whole_number
from crawling.dashboard.base.requests import back, next_page
from crawling.errors import BadOrder
from crawling.orders.schedules import zones
from crawlsite.preferences.store import (
    COLUMNS,
    DENSITIES,
    REFRESHES,
    ROWS,
    THEMES,
    change_preference,
    preference_of,
)
from serving.access import AuthenticatedRequest, authenticated

#: fields that are chosen from a few: their label and their choices
FEW: Mapping[str, tuple[str, Mapping[Any, str]]] = {
    "theme": ("Theme", THEMES),
    "density": ("Density of tables", DENSITIES),
    "rows": ("Rows a page", ROWS),
    "refresh_seconds": ("Refresh of live pages", REFRESHES),
}
NUMBERS = ("rows", "refresh_seconds")
FIRST_STEPS = "hides_first_steps"


@authenticated(needs="", methods=("GET", "HEAD", "POST"))
def page(request: AuthenticatedRequest) -> HttpResponse:
    """Show all of them; a POST stores them all, or shows the mistakes beside the fields."""
    kept, errors = preference_of(request.user), {}
    values = {
        name: getattr(kept, name) for name in (*FEW, "time_zone", "hidden_columns", FIRST_STEPS)
    }
    if request.method == "POST":
        values = _given(request)
        try:
            change_preference(request.user, values)
        except BadOrder as error:
            errors = error.errors
        else:
            messages.success(request, "Your preferences are saved.")
            return redirect(next_page(request) or "preferences")
    hidden = values["hidden_columns"]
    few = [
        (name, label, [(value, word, value == values[name]) for value, word in choices.items()])
        for name, (label, choices) in FEW.items()
    ]
    columns = [
        (name, [(key, head, key not in hidden.get(name, ())) for key, head in heads.items()])
        for name, heads in COLUMNS.items()
    ]
    here = {"few": few, "columns": columns, "zone": values["time_zone"], "zones": sorted(zones())}
    here |= {"hides_first_steps": values["hides_first_steps"]}
    here |= {"errors": errors, "next": request.GET.get("next", request.POST.get("next", ""))}
    return render(request, "account/preferences.html", here, status=422 if errors else 200)


def _given(request: HttpRequest) -> dict[str, Any]:
    """What the form says; a column that is not ticked is hidden."""
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
def keep_refresh(request: AuthenticatedRequest) -> HttpResponse:
    """Keep how often live pages ask again.

    Only pace.js asks for it: without scripts no page is live.
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
def keep_look(request: AuthenticatedRequest) -> HttpResponse:
    """Store the chosen `theme` or `density`, or whether the first steps are hidden, and show the
    page again.
    """
    given: dict[str, Any] = {
        name: request.POST[name] for name in ("theme", "density") if name in request.POST
    }
    if FIRST_STEPS in request.POST:
        given[FIRST_STEPS] = request.POST[FIRST_STEPS] == "1"
    try:
        change_preference(request.user, given)
    except BadOrder as error:
        messages.error(request, str(error))
    return back(request)
