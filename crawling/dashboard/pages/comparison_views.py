"""Two runs of a crawl side by side, and the text of one page in both."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from crawling.dashboard.base.requests import asked_number, wanted_run
from crawling.dashboard.pages.comparison import KINDS, ComparingTookTooLong, differences, summary_of
from crawling.dryrun.inquiries import ask_once
from crawling.models import CrawlJob, InquiryKind, Page, Run
from crawling.web.addresses import MAX_URL_LENGTH
from serving.access import AuthenticatedRequest, authenticated
from serving.fragments import render_live
from serving.requests import asked_text

ROWS = 100
RUNS = 50


@authenticated(needs="crawling.view_crawljob")
def compare(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """What is different in `?run=` (the latest) against `?against=` (the one before): of a
    `?kind=`, on a `?host=`, after an address.
    """
    new = wanted_run(request, pk, "there are no runs to compare")
    old = _against(request, new.crawl, new)
    kind = request.GET.get("kind", "")
    kind = kind if kind in KINDS else ""
    host, after = (asked_text(request.GET, name, most=MAX_URL_LENGTH) for name in ("host", "after"))
    here: dict[str, Any] = {
        "crawl": new.crawl,
        "new": new,
        "old": old,
        "kind": kind,
        "host": host,
        "after": after,
        "runs": new.crawl.runs.all()[:RUNS],
        "kinds": KINDS,
    }
    if old:
        try:
            rows, following = differences(old, new, kind=kind, host=host, after=after, limit=ROWS)
            here |= {"summary": summary_of(old, new), "rows": rows, "following": following}
        except ComparingTookTooLong as error:
            messages.error(request, str(error))
    return render(request, "crawling/compare.html", here)


def _against(request: HttpRequest, job: CrawlJob, new: Run) -> Run | None:
    number = asked_number(request, "against")
    if number is None:
        return job.runs.filter(number__lt=new.number).first() or job.runs.exclude(pk=new.pk).first()
    return get_object_or_404(job.runs, number=number)


@authenticated(needs="crawling.view_crawljob")
def compare_page(request: AuthenticatedRequest, pk: int, old: int, new: int) -> HttpResponse:
    """The text of one URL in two runs, once a background job has compared it."""
    job = get_object_or_404(CrawlJob, pk=pk)
    stored = Page.objects.select_related("url", "run__crawl", "archive_file").filter(
        run__crawl=job, run__removal_asked_at=None
    )
    pages = [get_object_or_404(stored, pk=one) for one in (old, new)]
    inquiry = ask_once(InquiryKind.TEXT_DIFF, {"old": old, "new": new}, by=request.user)
    here: dict[str, Any] = {"crawl": job, "old": pages[0], "new": pages[1], "inquiry": inquiry}
    here |= {"lines": (inquiry.answer or {}).get("lines", [])}
    return render_live(request, "crawling/compare_page.html", "crawling/_diff.html", here)
