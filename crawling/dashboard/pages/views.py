"""Pages that a run has fetched, and URLs that it has not: possible traps; stored pages as they
were, without anything that could act in the reader's browser; the archive's files and downloads;
two runs or two texts side by side; missing URLs by reason.
"""

from __future__ import annotations

import math
from operator import attrgetter
from secrets import token_urlsafe
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header

from crawling.archive.reader import original_of, packed_pieces, page_with_content
from crawling.archive.selection import referring_runs
from crawling.archive.viewer import head_of, whole_document_of
from crawling.base.errors import ArchiveTrouble, CrawlError
from crawling.dashboard.base.requests import (
    asked_number,
    of_run,
    redirect_back,
    wanted_page,
    wanted_page_of_any,
)
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.pages.downloads import (
    WARC,
    page_file,
    rows_file,
    warc_file,
    weight_of,
)
from crawling.dashboard.pages.filter import requested_page_filter
from crawling.dashboard.pages.not_fetched import (
    NotFetchedReason,
    each_not_fetched_url,
    not_fetched_urls,
    reasons_of,
)
from crawling.dashboard.pages.stored_view import shown_as
from crawling.datasets.lag import lags_of
from crawling.models import ArchiveFile, CrawlJob, InquiryKind, Run
from crawling.models.jobs import ENDED_STATES
from crawling.previews.inquiries import ask_once
from crawling.previews.run_comparison import (
    KINDS,
    ChangeFilter,
    ComparingTookTooLong,
    compare_runs,
)
from crawling.runs.crawls.traps import approve_trap, ban_trap
from crawling.web.addresses import MAX_URL_LENGTH, canonical_address
from crawling.web.file_names import file_name
from crawling.web.secret_headers import masked_head
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import Download, row_file, send
from serving.list_choices import choices_of
from serving.requests import asked_text, render_live

#: the number of an archive's files on a page
FILES_SHOWN = 200
#: the reason why a crawl that was never started has no pages
HAS_NO_PAGES = "it has no pages yet"
ROWS_OF_CHANGES = 100
RUNS = 50
#: the reason why a crawl that was never started has no list of missing URLs
HAS_LEFT_NOTHING_OUT = "it has left nothing out"
ROWS_NOT_FETCHED = 100


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def judge(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Approve or ban the pattern with this key, in the latest run."""
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
    return redirect_back(request)


@authenticated(needs="crawling.view_crawljob")
def page(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponse:
    """Show a page's record: its headers, and the document in a frame without any permissions."""
    found = wanted_page(pk, url)
    here = {
        "crawl": found.run.crawl,
        "run": found.run,
        "page": found,
        "original": original_of(found),
        "weight": weight_of(found),
    }
    try:
        header, head = head_of(found)
        if not request.user.has_perm("crawling.change_crawljob"):
            head = masked_head(head)
        shown = {**here, "header": header, "head": head, "type": shown_as(found)}
        shown["viewer"] = token_urlsafe(9)
        return render(request, "crawling/page.html", shown)
    except ArchiveTrouble as trouble:
        return render(request, "crawling/page.html", {**here, "trouble": str(trouble)})


@authenticated(needs="crawling.view_crawljob")
def files(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    rows = (
        ArchiveFile.objects.filter(run__crawl=crawl, committed_length__gt=0)
        .select_related("run")
        .order_by("-run", "pk")
    )
    shown = Paginator(rows, FILES_SHOWN).get_page(request.GET.get("page"))
    referring = referring_runs({file.run_id for file in shown if file.run_id})
    latest = crawl.runs.first()
    context = {"crawl": crawl, "files": shown, "referring": referring, "latest": latest}
    context |= {"datasets": lags_of(latest) if latest else []}
    return render(request, "crawling/archive.html", context)


@of_run(HAS_NO_PAGES)
def rows(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    return send(rows_file(run, requested_page_filter(request), kind))


@of_run(HAS_NO_PAGES, needs="crawling.change_crawljob")
def records(request: AuthenticatedRequest, run: Run) -> HttpResponseBase:
    with errors_told(request, ArchiveTrouble):
        return send(warc_file(run, requested_page_filter(request)))
    return redirect(f"{reverse('crawling:pages', args=[run.crawl_id])}?run={run.number}")


@authenticated(needs="crawling.change_crawljob")
def record(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponseBase:
    with errors_told(request, ArchiveTrouble):
        return send(page_file(wanted_page(pk, url)))
    return redirect("crawling:page", pk, url)


@authenticated(needs="crawling.change_crawljob")
def document(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponse:
    """Send the document itself, as a file that no browser opens automatically."""
    found = wanted_page(pk, url)
    try:
        content = whole_document_of(page_with_content(found))
    except ArchiveTrouble as trouble:
        messages.error(request, str(trouble))
        return redirect("crawling:page", pk, url)
    answer = HttpResponse(content, content_type="application/octet-stream")
    name = file_name(canonical_address(found.final_url), found.content_type)
    answer["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


@authenticated(needs="crawling.change_crawljob")
def file(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponseBase:
    """Send a file of the archive up to its committed length, even while the file is being
    written.
    """
    row = get_object_or_404(ArchiveFile, pk=number, run__crawl=pk)
    with errors_told(request, ArchiveTrouble):
        return send(Download(row.name, WARC, packed_pieces(row), row.committed_length))
    return redirect("crawling:archive", pk)


@of_run("there are no runs to compare")
def compare(request: AuthenticatedRequest, new: Run) -> HttpResponse:
    """Show the differences of `?run=` (by default the latest) from `?against=` (by default the run
    before it): those of one `?kind=`, on one `?host=`, after an address.
    """
    old = _older_run(request, new.crawl, new)
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
        wanted = ChangeFilter(ROWS_OF_CHANGES, kind, host, after)
        with errors_told(request, ComparingTookTooLong):
            here["told"] = compare_runs(old, new, wanted, by=request.user)
        here["is_over"] = all(run.state in ENDED_STATES for run in (old, new))
    return render_live(request, "crawling/compare.html", "crawling/_changes.html", here)


def _older_run(request: HttpRequest, job: CrawlJob, new: Run) -> Run | None:
    number = asked_number(request, "against")
    if number is None:
        return job.runs.filter(number__lt=new.number).first() or job.runs.exclude(pk=new.pk).first()
    return get_object_or_404(job.runs, number=number)


@authenticated(needs="crawling.view_crawljob")
def compare_page(request: AuthenticatedRequest, pk: int, old: int, new: int) -> HttpResponse:
    """Show the texts of a page of the crawl and of an earlier page, of this or another crawl."""
    job = get_object_or_404(CrawlJob, pk=pk)
    pages = [wanted_page_of_any(old), wanted_page(pk, new)]
    question, run = {"old": old, "new": new}, pages[1].run
    inquiry = ask_once(InquiryKind.TEXT_DIFF, question, by=request.user, run=run)
    here: dict[str, Any] = {"crawl": job, "old": pages[0], "new": pages[1], "inquiry": inquiry}
    here |= {"lines": (inquiry.answer or {}).get("lines", [])}
    return render_live(request, "crawling/compare_page.html", "crawling/_diff.html", here)


@of_run(HAS_LEFT_NOTHING_OUT)
def show_not_fetched(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Count the URLs that the run has not fetched, by reason, and list those with the reason
    `?why=` (by default the most frequent one), after the id `?after=`.
    """
    reasons = sorted(reasons_of(run), key=attrgetter("urls"), reverse=True)
    asked = _requested_reason(request, reasons) or next(iter(reasons), None)
    after = asked_number(request, "after")
    most = choices_of(request).most(ROWS_NOT_FETCHED)
    rows, following = (
        not_fetched_urls(run, asked.key, after=after or 0, most=most) if asked else ([], None)
    )
    here = {
        "crawl": run.crawl,
        "run": run,
        "reasons": [(one, math.ceil(100 * one.urls / reasons[0].urls)) for one in reasons],
        "asked": asked,
        "rows": rows,
        "following": following,
        "after": after,
    }
    return render(request, "crawling/not_fetched.html", here)


@of_run(HAS_LEFT_NOTHING_OUT)
def not_fetched_file(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    """Send all addresses with the reason `?why=`, or with any reason."""
    reasons = reasons_of(run)
    asked = _requested_reason(request, reasons)
    rows = each_not_fetched_url(run, [asked] if asked else reasons)
    return send(row_file(f"crawl-{run.crawl_id}-run-{run.number}-not-fetched", kind, rows))


def _requested_reason(
    request: HttpRequest, reasons: list[NotFetchedReason]
) -> NotFetchedReason | None:
    return next((reason for reason in reasons if reason.key == request.GET.get("why")), None)
