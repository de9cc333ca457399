"""The page of background jobs, and its buttons."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404

from crawling.base.errors import CrawlError
from crawling.dashboard.base.requests import asked_number, latest_asked, redirect_back
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.jobs.job_list import STATES, listed_jobs, rows_for
from crawling.jobs.cancel import cancel_job, run_job_again
from crawling.jobs.job_rows import visible_jobs
from crawling.jobs.kinds import job_kinds, kind_of
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import asked_text, render_live

SHOWN = 50


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD"))
def jobs(request: AuthenticatedRequest) -> HttpResponse:
    """List the jobs, the latest first. Invalid values in the address are ignored."""
    kinds = {kind.name: kind.label for kind in job_kinds().values()}
    kind, state = asked_text(request.GET, "kind"), asked_text(request.GET, "state")
    kind, state = kind if kind in kinds else "", state if state in STATES else ""
    crawl = asked_number(request, "crawl")
    found = listed_jobs(kind=kind, state=state, crawl=crawl)
    here = latest_asked(request, found, SHOWN)
    here |= {
        "rows": rows_for(request.user, here["rows"]),
        "kinds": sorted(kinds.items(), key=lambda one: one[1].lower()),
        "kind": kind,
        "states": list(STATES),
        "state": state,
        "crawl": crawl,
    }
    by_user = request.user.has_perm("crawling.change_crawljob")
    template, fragment = "crawling/jobs.html", "crawling/_jobs.html"
    return render_live(request, template, fragment, here, depends_on_user=by_user)


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def cancel(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    job = get_object_or_404(visible_jobs(), pk=pk)
    with errors_told(request, CrawlError):
        cancel_job(job, by=request.user)
    return redirect_back(request)


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def run_again(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    job = get_object_or_404(visible_jobs(), pk=pk)
    with errors_told(request, CrawlError):
        again = run_job_again(job, by=request.user)
        messages.success(request, f"Job {again.pk} does the {kind_of(again).label} again.")
    return redirect_back(request)
