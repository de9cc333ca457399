"""A run watched from near: its numbers over time, and what to send to somebody who is to find out
why it stands still.
"""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from crawling.dashboard.base.requests import asked_run, wanted_run
from crawling.dashboard.run.charts import chart_file, chart_of_run
from crawling.dashboard.run.diagnostics_bundle import evidence_of
from crawling.models import CrawlJob
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import send
from serving.fragments import render_live

#: why a crawl that was never started has nothing here
NEVER_STARTED = "there is nothing to tell of it yet"


@authenticated(needs="crawling.view_crawljob")
def charts(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Pages, links found and bytes of a run over time."""
    job = get_object_or_404(CrawlJob, pk=pk)
    run = asked_run(request, job)
    here = {"crawl": job, "run": run, "chart": chart_of_run(run) if run else None}
    return render_live(request, "crawling/charts.html", "crawling/_charts.html", here)


@authenticated(needs="crawling.view_crawljob")
def numbers(request: AuthenticatedRequest, pk: int) -> StreamingHttpResponse:
    """The numbers behind a run's charts, as CSV."""
    run = wanted_run(request, pk, NEVER_STARTED)
    return send(chart_file(f"crawl-{pk}-run-{run.number}-by-time", chart_of_run(run)))


@authenticated(needs="crawling.change_crawljob")
def evidence(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """A ZIP file of what the verdict on a run rests on."""
    run = wanted_run(request, pk, NEVER_STARTED)
    headers = {
        "Content-Disposition": f'attachment; filename="crawl-{pk}-run-{run.number}-evidence.zip"'
    }
    return HttpResponse(evidence_of(run), content_type="application/zip", headers=headers)
