"""The page that shows what the browsers of a run show now."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from crawling.dashboard.base.requests import of_run
from crawling.dashboard.run.open_pages import open_pages
from crawling.models import Run
from serving.access import AuthenticatedRequest
from serving.requests import wants_fragment


@of_run("no browser works for it")
def live_view(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Show the pages that browsers have open. A script asks for the fragment once a second."""
    found = open_pages(run)
    here: dict[str, Any] = {
        "crawl": run.crawl,
        "run": run,
        "why_none": found.why_none,
        "pages": [(view, b64encode(view.picture).decode()) for view in found.views],
    }
    name = "_live_view" if wants_fragment(request) else "live_view"
    return render(request, f"crawling/{name}.html", here)
