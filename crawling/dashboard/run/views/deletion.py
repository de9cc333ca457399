"""Pages that delete: they say what is lost before anything is, and want the crawl's name typed."""

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

NOT_ITS_NAME = "This is not its name; type it as it stands above, capital letters included."


@authenticated(needs="crawling.delete_crawljob", methods=("GET", "HEAD", "POST"))
def delete(request: AuthenticatedRequest, crawl: int) -> HttpResponse:
    """Ask, then delete."""
    job = get_object_or_404(CrawlJob, pk=crawl)
    typed, error = request.POST.get("name", ""), ""
    if request.method == "POST":
        if typed.strip() != job.name:
            error = NOT_ITS_NAME
        else:
            try:
                delete_crawl(job, by=request.user)
            except WrongState as trouble:
                error = str(trouble)
            else:
                messages.success(request, f"{job.name} is deleted.")
                return redirect("crawling:crawls")
    view = crawl_view(job)
    loss = loss_of(list(job.runs.values_list("pk", flat=True)))
    facts = {
        "crawl": view,
        "loss": loss,
        "is_over": view.state in AT_REST,
        "typed": typed,
        "error": error,
    }
    return render(request, "crawling/delete.html", facts)


@authenticated(needs="crawling.delete_crawljob", methods=("GET", "HEAD", "POST"))
def delete_run(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponse:
    """Say what goes with one run, or why it has to stay; then delete it."""
    run = get_object_or_404(Run.objects.select_related("crawl"), crawl=pk, number=number)
    typed, error = request.POST.get("name", ""), ""
    if request.method == "POST":
        if typed.strip() != run.crawl.name:
            error = NOT_ITS_NAME
        else:
            try:
                remove_run(run, by=request.user)
            except WrongState as trouble:
                messages.error(request, str(trouble))
            else:
                messages.success(request, f"Run {number} of {run.crawl.name} is deleted.")
            return redirect("crawling:runs", pk)
    facts = {
        "crawl": run.crawl,
        "run": run,
        "loss": loss_of([run.pk]),
        "why_not": why_not(run),
        "typed": typed,
        "error": error,
    }
    return render(request, "crawling/delete_run.html", facts)
