"""The part of pages that shows the lag of their data."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from crawling.dashboard.base.lags import read_lag
from crawling.dashboard.base.requests import of_run
from crawling.datasets.lag import Derived
from crawling.models import Run
from serving.access import AuthenticatedRequest


@of_run("nothing is derived of its pages")
def show(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Show the lag of the data `?of=`, by default of the links. A page that shows a lag requests it
    repeatedly.
    """
    name = request.GET.get("of", "")
    derived = Derived(name) if name in list(Derived) else Derived.LINKS
    here: dict[str, object] = {"run": run, "lag": read_lag(run, derived)}
    here |= {"is_asked_again": True, "of_run": "several" in request.GET}
    return render(request, "crawling/_lag.html", here)
