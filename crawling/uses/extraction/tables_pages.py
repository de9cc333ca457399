"""The tables of a stored page as CSV files."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from crawling.base.errors import InquiriesBusy
from crawling.dashboard.base.requests import wanted_page
from crawling.dashboard.base.trouble import errors_told
from crawling.models import Page
from crawling.uses.extraction.asked import request_tables, tables_in
from crawling.uses.extraction.page_tables import StoredTable
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import Download, cell_file, send


@authenticated(needs="crawling.view_crawljob")
def file(
    request: AuthenticatedRequest, pk: int, url: int, number: int, kind: str
) -> HttpResponseBase:
    """One table, once a background job has read it; until then the stored page says so."""
    page = wanted_page(pk, url)
    with errors_told(request, InquiriesBusy):
        inquiry = request_tables(page, by=request.user)
        found = tables_in(inquiry)
        if found is not None:
            table = found.table(int(number))
            if table is None:
                raise Http404(f"The page has no table {number}.")
            return send(table_file(page, table))
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
