"""The overview, the first page: running crawls, waiting crawls with their reasons, and those that
need an operator.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from allocation.selectors import pool_cards
from crawling.dashboard.crawls.overview import crawls_now
from crawling.dashboard.run.charts import SPANS, chart_file, chart_of_all
from crawling.runs.resource_use import with_use
from crawlsite.first_steps import first_steps
from crawlsite.health.probes import parts
from crawlsite.preferences.store import preference_of
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import send
from serving.fragments import render_live, wants_fragment


@authenticated(needs="crawling.view_crawljob")
def overview(request: AuthenticatedRequest) -> HttpResponse:
    """Running, waiting and failing crawls, the rate, the safety of the pools, and the state of
    every part.
    """
    hours = _hours(request)
    services = parts()
    here = {
        "crawls": crawls_now(),
        "chart": chart_of_all(hours),
        "hours": hours,
        "hours_text": str(hours),
        "spans": list(SPANS),
        "parts": services,
        "broken": [part for part in services if not part.is_fine],
        "pools": with_use(pool_cards()) if request.user.has_perm("allocation.view_pool") else [],
    }
    if not wants_fragment(request) and not preference_of(request.user).hides_first_steps:
        here["steps"] = first_steps(request.user)
    return render_live(request, "overview/overview.html", "overview/_overview.html", here)


@authenticated(needs="crawling.view_crawljob")
def numbers(request: AuthenticatedRequest) -> StreamingHttpResponse:
    """The numbers behind the overview's chart, as CSV."""
    hours = _hours(request)
    return send(chart_file(f"crawls-{hours}h", chart_of_all(hours)))


def _hours(request: HttpRequest) -> int:
    """How far back; nonsense counts as the least."""
    asked = request.GET.get("hours", "")
    return next((hours for hours in SPANS if str(hours) == asked), min(SPANS))
