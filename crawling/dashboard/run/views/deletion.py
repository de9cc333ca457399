"""Pages that delete a crawl or a run: they say what goes with it, and for how long it can be
restored.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from crawling.dashboard.base.crawl_views import crawl_view
from crawling.errors import WrongState
from crawling.housekeeping.deletion import delete_crawl
from crawling.housekeeping.retention_view import loss_of
from crawling.housekeeping.run_removal import remove_run, why_not
from crawling.models import CrawlJob, Run
from crawling.runs.transitions import AT_REST
from serving.access import AuthenticatedRequest, authenticated

DELETED = "is deleted. For 24 hours you can restore it from Recently deleted."


@authenticated(needs="crawling.delete_crawljob", methods=("GET", "HEAD", "POST"))
def delete(request: AuthenticatedRequest, crawl: int) -> HttpResponse:
    """Show what is removed with the crawl, then delete it."""
    job = get_object_or_404(CrawlJob, pk=crawl)
    error = ""
    if request.method == "POST":
        try:
            delete_crawl(job, by=request.user)
        except WrongState as trouble:
            error = str(trouble)
        else:
            messages.success(request, f"{job.name} {DELETED}")
            return redirect("crawling:crawls")
    view = crawl_view(job)
    facts = {
        "crawl": view,
        "loss": loss_of(list(job.runs.values_list("pk", flat=True))),
        "is_over": view.state in AT_REST,
        "error": error,
    }
    return render(request, "crawling/delete.html", facts)


@authenticated(needs="crawling.delete_crawljob", methods=("GET", "HEAD", "POST"))
def delete_run(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponse:
    """Say what goes with one run, or why it has to stay; then delete it."""
    run = get_object_or_404(Run.objects.select_related("crawl"), crawl=pk, number=number)
    if request.method == "POST":
        try:
            remove_run(run, by=request.user)
        except WrongState as trouble:
            messages.error(request, str(trouble))
        else:
            messages.success(request, f"Run {number} of {run.crawl.name} {DELETED}")
        return redirect("crawling:runs", pk)
    facts = {"crawl": run.crawl, "run": run, "loss": loss_of([run.pk]), "why_not": why_not(run)}
    return render(request, "crawling/delete_run.html", facts)
