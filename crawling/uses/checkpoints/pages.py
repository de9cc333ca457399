"""The page of a crawl's checkpoints."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from crawling.base.errors import CheckpointTrouble
from crawling.dashboard.base.panels import Link, Place
from crawling.dashboard.base.trouble import errors_told
from crawling.models import CrawlJob, Run
from crawling.uses.checkpoints.jobs import Checkpoint, checkpoints_of, request_checkpoint
from serving.access import AuthenticatedRequest, authenticated, needs

MOST = 100


@authenticated(needs="crawling.view_crawljob", methods=("GET", "POST"))
def checkpoints_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """List the checkpoints, the latest first. A POST requests a checkpoint of the latest run."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    if request.method == "POST":
        return _request_latest_run(request, crawl)
    rows = [Checkpoint.from_job(job) for job in checkpoints_of(crawl)[:MOST]]
    here: dict[str, Any] = {"crawl": crawl, "run": crawl.runs.first(), "checkpoints": rows}
    here |= {
        "place": settings.CHECKPOINT_DIR,
        "minutes": settings.CHECKPOINT_MINUTES,
        "kept": settings.CHECKPOINTS_KEPT,
    }
    return render(request, "checkpoints/checkpoints.html", here)


@needs("crawling.change_crawljob")
def _request_latest_run(request: AuthenticatedRequest, crawl: CrawlJob) -> HttpResponse:
    run = crawl.runs.select_related("crawl").first()
    with errors_told(request, CheckpointTrouble):
        if run is None:
            raise CheckpointTrouble(
                f"{crawl.name} has never been started, so there is nothing to keep."
            )
        request_checkpoint(run, by=request.user)
        messages.success(request, "It is being taken; look again in a moment.")
    return redirect("crawling:checkpoints", crawl.pk)


urlpatterns = [
    path("<int:pk>/checkpoints/", checkpoints_page, name="checkpoints"),
]


def _address_of_checkpoints(run: Run | None, crawl: int) -> str:
    return reverse("crawling:checkpoints", args=[crawl]) if run else ""


LINKS = (Link(Place.SETTINGS, "Checkpoints", _address_of_checkpoints),)
