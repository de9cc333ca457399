"""Read and change the preferences of a user."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from django.contrib.auth.models import AnonymousUser, User

from crawling.dashboard.crawls.columns import HIDEABLE as CRAWL_COLUMNS
from crawling.dashboard.run.pages import HIDEABLE as PAGE_COLUMNS
from crawling.errors import BadOrder
from crawling.orders.schedules import zones
from crawlsite.models import Preference

#: seconds between two refreshes of a live page, and the words for it
REFRESHES = {1: "1 s", 2: "2 s", 5: "5 s", 15: "15 s", 60: "1 min", 0: "off"}
#: value and word of each theme and density, the usual one first
THEMES = {"auto": "Auto", "light": "Light", "dark": "Dark"}
DENSITIES = {"comfortable": "Comfortable", "compact": "Compact"}
#: rows a page; 0: as each list usually has
ROWS = {0: "usual", 25: "25", 50: "50", 100: "100", 200: "200"}
#: of each list with columns that can be hidden: key and head of those
COLUMNS: Mapping[str, Mapping[str, str]] = {"crawls": CRAWL_COLUMNS, "pages": PAGE_COLUMNS}


def preference_of(user: User | AnonymousUser) -> Preference:
    """A user's choice, or the default."""
    # a user without a row has no such attribute
    return getattr(user, "preference", None) or Preference()


def change_preference(user: User, given: Mapping[str, Any]) -> None:
    """Keep what is given, by field, on the account. Raises BadOrder."""
    told = {name: FAULTS[name](value) for name, value in given.items()}
    if faults := {name: fault for name, fault in told.items() if fault}:
        raise BadOrder(faults)
    Preference.objects.update_or_create(user=user, defaults=dict(given))


def keep_filters(user: User, filters: Mapping[str, str]) -> None:
    """Keep the last filter of each list; mostly in one query, as each look at a list may change
    it.
    """
    if not Preference.objects.filter(user=user).update(filters=filters):
        Preference.objects.update_or_create(user=user, defaults={"filters": filters})


def _one_of(choices: Collection[object], more: str = "") -> Callable[[Any], str]:
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


#: what is wrong with a value, by its field; "" if nothing is
FAULTS: Mapping[str, Callable[[Any], str]] = {
    "theme": _one_of(THEMES),
    "density": _one_of(DENSITIES),
    "refresh_seconds": _one_of(REFRESHES, "; 0 is off"),
    "rows": _one_of(ROWS, "; 0 is as each list usually has"),
    "time_zone": _zone_fault,
    "hidden_columns": _columns_fault,
    "hides_first_steps": _one_of((True, False)),
}
