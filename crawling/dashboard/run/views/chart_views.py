"""A run's numbers over time, and the evidence about a run that is not fetching."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse

from crawling.dashboard.base.requests import asked_run, of_run
from crawling.dashboard.run.charts import TimeSeries, chart_file, chart_of_host, chart_of_run
from crawling.dashboard.run.diagnostics_bundle import diagnostics_bundle
from crawling.dashboard.run.hosts import SOME, first_hosts
from crawling.models import CrawlJob, Run
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import send
from serving.requests import asked_text, render_live

#: the reason why a crawl that was never started has no numbers
NEVER_STARTED = "there is nothing to tell of it yet"


@authenticated(needs="crawling.view_crawljob")
def charts(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    job = get_object_or_404(CrawlJob, pk=pk)
    run = asked_run(request, job)
    here: dict[str, object] = {"crawl": job, "run": run, "chart": None}
    if run:
        name = asked_text(request.GET, "host")
        chart, is_cut = _chart(run, name)
        hosts = [queue.host.name for queue in first_hosts(run, SOME)]
        query = urlencode({"run": run.number, **({"host": name} if name else {})})
        numbers = f"{reverse('crawling:numbers', args=[pk])}?{query}"
        here |= {"chart": chart, "is_cut": is_cut, "host": name, "hosts": hosts, "numbers": numbers}
    return render_live(request, "crawling/charts.html", "crawling/_charts.html", here)


@of_run(NEVER_STARTED)
def numbers(request: AuthenticatedRequest, run: Run) -> StreamingHttpResponse:
    """Send the numbers behind a run's charts, or behind those of one of its hosts, as CSV."""
    chart, _ = _chart(run, asked_text(request.GET, "host"))
    return send(chart_file(f"crawl-{run.crawl_id}-run-{run.number}-by-time", chart))


def _chart(run: Run, host: str) -> tuple[TimeSeries, bool]:
    """The chart of the run, or of the host with this name, and whether its earlier pages are
    missing.
    """
    if not host:
        return chart_of_run(run), False
    queue = run.queues.select_related("run__crawl").filter(host__name=host.lower()).first()
    if queue is None:
        raise Http404(f"Run {run.number} has not met the host {host}.")
    return chart_of_host(queue)


@of_run(NEVER_STARTED, needs="crawling.change_crawljob")
def evidence(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    name = f"crawl-{run.crawl_id}-run-{run.number}-evidence.zip"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(diagnostics_bundle(run), content_type="application/zip", headers=headers)
