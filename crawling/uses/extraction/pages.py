"""Extraction from a run's pages by rules: rows, a preview of other rules, and the same run read
again for them; and the tables of a stored page as CSV files.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, re_path, reverse

from crawling.base.errors import BadOrder, InquiriesBusy, WrongState
from crawling.dashboard.base.panels import Link, Place, page_of_run
from crawling.dashboard.base.requests import (
    address_of,
    asked_number,
    asked_run,
    of_run,
    wanted_page,
    wanted_run,
)
from crawling.dashboard.base.run_pages import file_route
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.pages.downloads import EXTRACTED, extracted_of, extracted_rows_file
from crawling.jobs.enqueue import jobs_of
from crawling.models import CrawlJob, Page, Run
from crawling.uses.extraction.asked import preview_in, request_preview, request_tables, tables_in
from crawling.uses.extraction.jobs import EXTRACTION, request_extraction
from crawling.uses.extraction.page_tables import StoredTable
from crawling.uses.extraction.pointing import may_be_pointed_at
from crawling.uses.extraction.pointing import urlpatterns as pointing_patterns
from crawling.uses.extraction.rule_previews import read_rules
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.downloads import Download, cell_file, send
from serving.requests import asked_text, render_live

ROWS = 200
#: the characters of rules in an address
LONGEST = 5_000
#: why a crawl that was never started has nothing here
HAS_NO_PAGES = "nothing was taken out of its pages yet"


@authenticated(needs="crawling.view_crawljob")
def table(
    request: AuthenticatedRequest, pk: int, url: int, number: int, kind: str
) -> HttpResponseBase:
    """One table, once a background job has read it; until then the stored page says so."""
    page = wanted_page(pk, url)
    with errors_told(request, InquiriesBusy):
        inquiry = request_tables(page, by=request.user)
        found = tables_in(inquiry)
        if found is not None:
            one = found.table(int(number))
            if one is None:
                raise Http404(f"The page has no table {number}.")
            return send(table_file(page, one))
        if inquiry.why_failed:
            messages.error(request, f"The tables cannot be read. {inquiry.why_failed}")
        else:
            messages.info(
                request,
                "A background job reads the tables of this page; ask for the file again in some "
                "seconds.",
            )
    return redirect("crawling:page", pk, url)


def table_file(page: Page, table: StoredTable) -> Download:
    """A table as CSV, without names of columns of our own."""
    first, *others = table.rows or [[]]
    stem = f"crawl-{page.run.crawl_id}-page-{page.pk}-table-{table.number}"
    return cell_file(stem, first, others)


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def extracted(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """List the rows extracted from a run's pages, after the row `?after=`, and what `?rules=` match
    on its latest pages. A POST extracts from the run again, by its `rules`.
    """
    if request.method == "POST":
        return _extract_again(request, wanted_run(request, pk, HAS_NO_PAGES))
    job = get_object_or_404(CrawlJob, pk=pk)
    run, after = asked_run(request, job), asked_number(request, "after")
    found = (
        EXTRACTED.page(extracted_of(run), after=str(after or ""), most=ROWS) if run else ([], None)
    )
    given = asked_text(request.GET, "rules", most=LONGEST)
    here: dict[str, Any] = {
        "crawl": job,
        "run": run,
        "rows": found[0],
        "following": found[1],
        "after": after,
        "given": given or "\n".join(f"{name} = {rule}" for name, rule in job.extract.items()),
        "extraction": jobs_of(EXTRACTION, run).first() if run else None,
    }
    if run and given:
        here |= _preview(request, run, given)
    return render_live(request, "extraction/extracted.html", "extraction/_rule_preview.html", here)


def _preview(request: AuthenticatedRequest, run: Run, given: str) -> dict[str, Any]:
    try:
        inquiry = request_preview(run, read_rules(given), by=request.user)
    except (BadOrder, InquiriesBusy) as trouble:
        return {"trouble": str(trouble), "is_asked": True}
    return {
        "is_asked": True,
        "inquiry": inquiry,
        "preview": preview_in(inquiry),
        "trouble": inquiry.why_failed,
    }


@needs("crawling.change_crawljob")
def _extract_again(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    given = asked_text(request.POST, "rules", most=LONGEST)
    with errors_told(request, BadOrder, WrongState):
        request_extraction(run, read_rules(given), by=request.user)
        messages.success(request, f"A background job reads the pages of run {run.number} again.")
    return redirect(address_of("crawling:extracted", run))


@of_run(HAS_NO_PAGES)
def extracted_file(request: AuthenticatedRequest, run: Run, kind: str) -> StreamingHttpResponse:
    return send(extracted_rows_file(run, kind))


urlpatterns = [
    re_path(
        r"^(?P<pk>[0-9]{1,18})/pages/(?P<url>[0-9]{1,18})/table-(?P<number>[0-9]{1,9})"
        r"\.(?P<kind>csv)$",
        table,
        name="page-table",
    ),
    path("<int:pk>/extracted/", extracted, name="extracted"),
    file_route("extracted", ("csv", "json"), extracted_file),
    *pointing_patterns,
]


def _point(page: Page, crawl: int) -> str:
    return reverse("crawling:fields", args=[crawl, page.pk]) if may_be_pointed_at(page) else ""


LINKS = (
    Link(Place.DATA, "Extracted fields", page_of_run("crawling:extracted")),
    Link(Place.PAGE, "Fields", _point),
)
