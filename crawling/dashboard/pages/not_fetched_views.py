"""What a run has not got, by reason: a page, and a file of its rows."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from crawling.dashboard.base.requests import asked_number, wanted_run
from crawling.dashboard.pages.not_fetched import (
    NotFetchedReason,
    each_not_fetched_url,
    not_fetched_urls,
    reasons_of,
)
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import row_file, send
from serving.list_choices import choices_of

#: why a crawl that was never started has nothing here
NEVER_STARTED = "it has left nothing out"
ROWS = 100


@authenticated(needs="crawling.view_crawljob")
def show(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Count what the run has not got by reason, and list the addresses of `?why=`, after that of
    the id `?after=`.
    """
    run = wanted_run(request, pk, NEVER_STARTED)
    reasons = reasons_of(run)
    asked = _asked(request, reasons)
    after = asked_number(request, "after")
    most = choices_of(request).most(ROWS)
    rows, following = (
        not_fetched_urls(run, asked.key, after=after or 0, limit=most) if asked else ([], None)
    )
    here = {
        "crawl": run.crawl,
        "run": run,
        "reasons": reasons,
        "asked": asked,
        "rows": rows,
        "following": following,
        "after": after,
    }
    return render(request, "crawling/not_fetched.html", here)


@authenticated(needs="crawling.view_crawljob")
def as_file(request: AuthenticatedRequest, pk: int, kind: str) -> HttpResponseBase:
    """All addresses of the reason `?why=`, or of all reasons."""
    run = wanted_run(request, pk, NEVER_STARTED)
    reasons = reasons_of(run)
    asked = _asked(request, reasons)
    rows = each_not_fetched_url(run, [asked] if asked else reasons)
    return send(row_file(f"crawl-{pk}-run-{run.number}-not-fetched", kind, rows))


def _asked(request: HttpRequest, reasons: list[NotFetchedReason]) -> NotFetchedReason | None:
    return next((reason for reason in reasons if reason.key == request.GET.get("why")), None)
