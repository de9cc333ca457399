"""The calendar of an address, and the captures before and after a stored page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.timezone import localtime

from crawling.archive.captures import MOST, captures_of
from crawling.dashboard.base.known_addresses import known_address
from crawling.dashboard.base.panels import Panel, Place
from crawling.dashboard.base.requests import asked_number
from crawling.models import Page
from crawling.uses.captures.capture_calendar import (
    captures_of_day,
    months_of,
    neighbours_of,
    years_of,
)
from crawling.web.addresses import MAX_URL_LENGTH, BadUrl
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import asked_text


@authenticated(needs="crawling.view_crawljob")
def calendar_page(request: AuthenticatedRequest) -> HttpResponse:
    """Show the captures of `?u=`: by year, by month of `?year=` (by default the latest), and one by
    one for `?day=`. A link compares each of them with the capture `?with=`.
    """
    typed = asked_text(request.GET, "u", most=MAX_URL_LENGTH)
    here: dict[str, Any] = {"typed": typed}
    if typed:
        try:
            here |= _calendar_facts(request, known_address(typed).url)
        except BadUrl as error:
            here["trouble"] = str(error)
    return render(request, "captures/calendar.html", here)


def _calendar_facts(request: AuthenticatedRequest, url: str) -> dict[str, Any]:
    captures = captures_of(url)
    here: dict[str, Any] = {"url": url, "captures": captures, "most": MOST}
    if not captures:
        return here
    day = _asked_day(request)
    years = years_of(captures)
    year = day.year if day else asked_number(request, "year") or years[-1][0]
    year = min(max(year, years[0][0]), years[-1][0])
    here |= {"years": years, "year": year, "months": months_of(captures, year)}
    latest = localtime(captures[-1].fetched_at).date()
    day = day or (latest if latest.year == year else None)
    number = asked_number(request, "with")
    chosen = next((one for one in captures if one.pk == number), None)
    listed = captures_of_day(captures, day) if day else []
    here |= {"day": day, "chosen": chosen}
    here["listed"] = [(one, _comparison_address(chosen, one.page)) for one in listed]
    here["crawls"] = len({one.run.crawl_id for one in captures})
    return here


def _comparison_address(chosen: Page | None, other: Page) -> str:
    """The address of the page that compares two captures, the earlier one first; "" if both are the
    same.
    """
    if chosen is None or chosen.pk == other.pk:
        return ""
    old, new = sorted((chosen, other), key=lambda page: (page.fetched_at, page.pk))
    return reverse("crawling:compare-page", args=[new.run.crawl_id, old.pk, new.pk])


def _asked_day(request: AuthenticatedRequest) -> date | None:
    try:
        return date.fromisoformat(request.GET.get("day", ""))
    except ValueError:
        return None


urlpatterns = [path("captures/", calendar_page, name="captures")]


def _neighbours_panel(page: Page) -> Mapping[str, Any]:
    before, following, place, count = neighbours_of(page)
    return {"before": before, "following": following, "place": place, "count": count}


PANELS = (Panel(Place.PAGE, "captures/_neighbours.html", _neighbours_panel),)
