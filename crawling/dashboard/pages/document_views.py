"""A crawl's extracted rows, and the decisions on possible traps."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render

from crawling.crawls.traps import approve_trap, ban_trap
from crawling.dashboard.base.requests import asked_number, asked_run, back, wanted_run
from crawling.dashboard.pages.extracted import extracted_rows_file, list_extracted
from crawling.errors import CrawlError
from crawling.models import CrawlJob
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import send

ROWS = 200


@authenticated(needs="crawling.view_crawljob")
def extracted(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """List what was taken out of a run's pages, after the row `?after=`."""
    job = get_object_or_404(CrawlJob, pk=pk)
    run = asked_run(request, job)
    after = asked_number(request, "after")
    rows, following = list_extracted(run, after=after or 0, limit=ROWS) if run else ([], None)
    return render(
        request,
        "crawling/extracted.html",
        {"crawl": job, "run": run, "rows": rows, "following": following, "after": after},
    )


@authenticated(needs="crawling.view_crawljob")
def extracted_file(request: AuthenticatedRequest, pk: int, kind: str) -> StreamingHttpResponse:
    """All that was taken out of a run's pages, as a file."""
    run = wanted_run(request, pk, "nothing was taken out of its pages yet")
    return send(extracted_rows_file(run, kind))


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def judge(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Approve or ban the pattern of that key, in the latest run."""
    job = get_object_or_404(CrawlJob, pk=pk)
    decide, key = (
        (approve_trap, request.POST["approve"])
        if "approve" in request.POST
        else (ban_trap, request.POST.get("ban", ""))
    )
    try:
        count = decide(job, int(key), by=request.user)
    except ValueError:
        messages.error(request, "That is no pattern of this crawl.")
    except CrawlError as error:
        messages.error(request, str(error))
    else:
        messages.success(
            request,
            f"{count:,} URLs are {'queued again' if decide is approve_trap else 'excluded'}.",
        )
    return back(request)
