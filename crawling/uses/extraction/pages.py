"""The pages about what rules extract from a run's pages: rows, a preview of other rules, and
reading the run again by them. Also the tables of a stored page as CSV files.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import NoReverseMatch, path, re_path, reverse

from crawling.base.errors import BadOrder, InquiriesBusy, NotFound, WrongState
from crawling.base.timed import SearchTookTooLong
from crawling.dashboard.base.columns import ListPlace
from crawling.dashboard.base.lags import marked_download, read_lag
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
from crawling.dashboard.pages.downloads import extracted_rows_file
from crawling.dashboard.pages.field_columns import with_cells
from crawling.dashboard.pages.filter import PageFilter
from crawling.dashboard.run.pages import PageWindow, page_count, pages_of
from crawling.datasets.extracted_fields import FieldRules, field_rules
from crawling.datasets.lag import Derived
from crawling.jobs.enqueue import jobs_of
from crawling.models import CrawlJob, Page, Run
from crawling.orders.sections.reading import read_reference, revision_in_words
from crawling.runs.crawls.extractor_rules import named_rules
from crawling.uses.extraction.asked import request_tables, tables_of_inquiry
from crawling.uses.extraction.extractor_pages import DELETED, EXTRACTOR
from crawling.uses.extraction.extractor_pages import urlpatterns as extractor_patterns
from crawling.uses.extraction.jobs import (
    EXTRACTION,
    newest_rules_of,
    request_by_extractor,
    request_extraction,
)
from crawling.uses.extraction.page_tables import StoredTable
from crawling.uses.extraction.pointing import has_selectable_elements
from crawling.uses.extraction.pointing import urlpatterns as pointing_patterns
from crawling.uses.extraction.rule_previews import read_rules
from crawling.uses.extraction.rules_page import LONGEST, preview_facts
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.downloads import Download, cell_file, send
from serving.list_choices import choices_of
from serving.requests import asked_text, render_live

ROWS = 100
WITH_FIELDS = PageFilter(has_fields=True)
#: the reason why a crawl that was never started has no extracted data
HAS_NO_PAGES = "nothing was taken out of its pages yet"


@authenticated(needs="crawling.view_crawljob")
def table_csv(
    request: AuthenticatedRequest, pk: int, url: int, number: int, kind: str
) -> HttpResponseBase:
    """Send one table as CSV. If no background job has read it yet, redirect to the stored page with
    a message.
    """
    page = wanted_page(pk, url)
    with errors_told(request, InquiriesBusy):
        inquiry = request_tables(page, by=request.user)
        found = tables_of_inquiry(inquiry)
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
    """A table as CSV. No column names are added."""
    first, *others = table.rows or [[]]
    stem = f"crawl-{page.run.crawl_id}-page-{page.pk}-table-{table.number}"
    return cell_file(stem, first, others)


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def extracted_data_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Show the extracted data of each page of a run, and what `?rules=`, or the rules of
    `?extractor=`, match on its latest pages. A POST requests that the run's pages are read again.
    """
    if request.method == "POST":
        return _request_extraction(request, wanted_run(request, pk, HAS_NO_PAGES))
    job = get_object_or_404(CrawlJob, pk=pk)
    run = asked_run(request, job)
    here: dict[str, Any] = {"crawl": job, "run": run}
    if run:
        used = field_rules(run)
        here |= _rows_facts(request, run, used) | preview_facts(request, run, used)
        here |= {"lag": read_lag(run, Derived.FIELDS), "ways": _newer_rules(run, used)}
        here["extraction"] = jobs_of(EXTRACTION, run).first()
    return render_live(request, "extraction/extracted.html", "extraction/_rule_preview.html", here)


def _rows_facts(request: AuthenticatedRequest, run: Run, used: FieldRules) -> dict[str, Any]:
    """A row for each page on which a rule found something, after the page `?after=` or just before
    `?before=`, in the order of their fetches.
    """
    names, window, count = sorted(used.rules), PageWindow(), 0
    most = choices_of(request).most(ROWS)
    ends = {name: asked_number(request, name) for name in ("after", "before")}
    with errors_told(request, SearchTookTooLong):
        window = pages_of(run, WITH_FIELDS, most=most, sort="fetched", **ends)
        count = page_count(run, WITH_FIELDS)
    number = (asked_number(request, "page") or 1) if window.preceding else 1
    return {
        "used": used,
        "extractor": revision_in_words(used.extractor),
        "fields": names,
        "window": window,
        "pages": with_cells(run, window.pages, names),
        "place": ListPlace(number, (number - 1) * most + 1, len(window.pages), count),
    }


def _newer_rules(run: Run, used: FieldRules) -> list[tuple[str, str]]:
    """The newer rules by which the pages may be read again, each as the value that a button sends,
    and its words.
    """
    crawl = run.crawl
    ways = {"order": ("the crawl’s rules", dict(crawl.extract))} if crawl.extract else {}
    if newest := named_rules(read_reference(used.extractor or crawl.extractor)[0]):
        words = f"{newest.name}, revision {newest.revision}"
        ways[newest.reference] = (words, newest_rules_of(used, newest))
    told: list[tuple[str, str]] = []
    known = [dict(used.rules)]
    for value, (words, rules) in reversed(ways.items()):
        if rules not in known:
            known.append(rules)
            told.append((value, words))
    return told


@needs("crawling.change_crawljob")
def _request_extraction(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Extract again by the rules in the form, by those of the order, or by those of an extractor.
    `load` orders the rows as a file, too.
    """
    way, given = request.POST.get("by", ""), asked_text(request.POST, "rules", most=LONGEST)
    with errors_told(request, BadOrder, NotFound, WrongState):
        if way == "order":
            request_extraction(
                run, run.crawl.extract, by=request.user, extractor=run.crawl.extractor
            )
        elif way:
            request_by_extractor(run, way, by=request.user)
        else:
            request_extraction(run, read_rules(given), by=request.user)
        if "load" in request.POST and (order := _address_of_order(run)):
            # keeps the method, since the page of downloads takes an order by POST
            return redirect(order, preserve_request=True)
        messages.success(request, f"A background job reads the pages of run {run.number} again.")
    return redirect(address_of("crawling:extracted", run))


def _address_of_order(run: Run) -> str:
    """The address at which the wide CSV file is ordered; "" without the use that has it."""
    with suppress(NoReverseMatch):
        return f"{address_of('crawling:download', run)}&file=fields.csv"
    return ""


@of_run(HAS_NO_PAGES)
def extracted_file(request: AuthenticatedRequest, run: Run, kind: str) -> StreamingHttpResponse:
    return send(marked_download(extracted_rows_file(run, kind), run, Derived.FIELDS))


urlpatterns = [
    re_path(
        r"^(?P<pk>[0-9]{1,18})/pages/(?P<url>[0-9]{1,18})/table-(?P<number>[0-9]{1,9})"
        r"\.(?P<kind>csv)$",
        table_csv,
        name="page-table",
    ),
    path("<int:pk>/extracted/", extracted_data_page, name="extracted"),
    file_route("extracted", ("csv", "json"), extracted_file),
    *pointing_patterns,
    *extractor_patterns,
]


def _address_to_point(page: Page, crawl: int) -> str:
    return (
        reverse("crawling:fields", args=[crawl, page.pk]) if has_selectable_elements(page) else ""
    )


LINKS = (
    Link(Place.DATA, "Extracted fields", page_of_run("crawling:extracted")),
    Link(Place.PAGE, "Fields", _address_to_point),
)
RESTORABLE = (DELETED,)
FOUND_BY_NAME = (EXTRACTOR,)
