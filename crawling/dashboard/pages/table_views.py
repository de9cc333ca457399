"""The tables of a stored page, to look at and as CSV files."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from crawling.dashboard.base.requests import asked_number, wanted_page
from crawling.dashboard.base.trouble import errors_told
from crawling.dryrun.page_tables import StoredTable, ask_tables, tables_in
from crawling.errors import InquiriesBusy
from crawling.models import Page
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import Download, cell_file, send
from serving.requests import render_live

#: of a table on the page; the file has all
ROWS_SHOWN, COLUMNS_SHOWN = 100, 50


@authenticated(needs="crawling.view_crawljob")
def show(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponse:
    """All tables of a page, and the rows of `?table=`, or else of the longest one, once a
    background job has read them.
    """
    page = wanted_page(pk, url)
    here: dict[str, Any] = {"crawl": page.run.crawl, "run": page.run, "page": page}
    try:
        inquiry = ask_tables(page, by=request.user)
    except InquiriesBusy as trouble:
        here["trouble"] = str(trouble)
    else:
        found = tables_in(inquiry)
        here |= {"inquiry": inquiry, "found": found, "trouble": inquiry.why_failed}
        if found and found.tables:
            longest = max(found.tables, key=lambda table: len(table.rows))
            table = found.table(asked_number(request, "table") or 0) or longest
            rows = [row[:COLUMNS_SHOWN] for row in table.rows[:ROWS_SHOWN]]
            is_part = len(table.rows) > ROWS_SHOWN or table.columns > COLUMNS_SHOWN
            here |= {"table": table, "rows": rows, "is_part": is_part}
    return render_live(request, "crawling/page_tables.html", "crawling/_page_tables.html", here)


@authenticated(needs="crawling.view_crawljob")
def file(
    request: AuthenticatedRequest, pk: int, url: int, number: int, kind: str
) -> HttpResponseBase:
    """One table, once a background job has read it; until then its page."""
    page = wanted_page(pk, url)
    found = None
    with errors_told(request, InquiriesBusy):
        found = tables_in(ask_tables(page, by=request.user))
    if found is None:
        return redirect("crawling:page-tables", pk, url)
    table = found.table(int(number))
    if table is None:
        raise Http404(f"The page has no table {number}.")
    return send(table_file(page, table))


def table_file(page: Page, table: StoredTable) -> Download:
    """A table as CSV, without names of columns of our own."""
    first, *others = table.rows or [[]]
    stem = f"crawl-{page.run.crawl_id}-page-{page.pk}-table-{table.number}"
    return cell_file(stem, first, others)
