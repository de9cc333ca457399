"""Start, pause, resume, stop and abort from a button on any page, and back to that page."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST

from allocation.errors import BadKeepTime
from crawling.crawls.creation import start_run
from crawling.crawls.revisions import edit_crawl
from crawling.dashboard.base.requests import back
from crawling.errors import CrawlError
from crawling.models import CrawlJob, Run
from crawling.runs.steering import abort, pause, resume, stop

VERBS: dict[str, Callable[..., Run]] = {
    "start": start_run,
    "pause": pause,
    "resume": resume,
    "stop": stop,
    "abort": abort,
}


@require_POST
@login_required
@permission_required("crawling.change_crawljob", raise_exception=True)
def steer(request: HttpRequest, crawl: int, verb: str) -> HttpResponse:
    """Do it, or say why it cannot be done."""
    assert isinstance(request.user, User)
    job = get_object_or_404(CrawlJob, pk=crawl)
    try:
        run = VERBS[verb](job, by=request.user, **_wish(verb, request.POST.get("keep_minutes", "")))
    except ValueError:
        messages.error(request, "Minutes to keep are a number, like 30.")
    except (CrawlError, BadKeepTime) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{job.name} is {run.state}. {run.reason}")
    return back(request)


@require_POST
@login_required
@permission_required("crawling.change_crawljob", raise_exception=True)
def set_max(request: HttpRequest, crawl: int) -> HttpResponse:
    """Change how many fetches each of the crawl's workers may have at a time."""
    assert isinstance(request.user, User)
    job = get_object_or_404(CrawlJob, pk=crawl)
    try:
        job = edit_crawl(
            job, {"claim": {"fetch_slots": request.POST.get("fetch_slots", "")}}, by=request.user
        )
    except CrawlError as error:
        messages.error(request, str(error))
    else:
        messages.success(
            request,
            f"{job.name}: up to {job.claim['fetch_slots']} fetches at a time for each worker.",
        )
    return back(request)


def _wish(verb: str, keep_minutes: str) -> dict[str, float]:
    """Only a pause may keep what the crawl holds. Raises ValueError for what is no number."""
    return {"keep_seconds": 60 * float(keep_minutes)} if verb == "pause" and keep_minutes else {}
