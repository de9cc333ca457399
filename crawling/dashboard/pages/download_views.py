"""Download pages: one, those that a filter lets through, or all of a run."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import content_disposition_header

from crawling.archive.reader import original_of, packed_pieces
from crawling.archive.viewer import whole_document_of
from crawling.dashboard.base.requests import wanted_page, wanted_run
from crawling.dashboard.pages.downloads import WARC, page_file, rows_file, warc_file
from crawling.dashboard.pages.filter import asked_pages
from crawling.errors import ArchiveTrouble
from crawling.models import ArchiveFile
from crawling.web.addresses import read_address
from crawling.web.file_names import file_name
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import Download, send

#: why a crawl that was never started has nothing here
NEVER_STARTED = "it has no pages yet"


@authenticated(needs="crawling.view_crawljob")
def rows(request: AuthenticatedRequest, pk: int, kind: str) -> HttpResponseBase:
    """The rows of a run's pages, filtered as their list is."""
    return send(rows_file(wanted_run(request, pk, NEVER_STARTED), asked_pages(request), kind))


@authenticated(needs="crawling.change_crawljob")
def records(request: AuthenticatedRequest, pk: int) -> HttpResponseBase:
    """What the archive has of a run's pages, filtered as their list is."""
    run = wanted_run(request, pk, NEVER_STARTED)
    try:
        return send(warc_file(run, asked_pages(request)))
    except ArchiveTrouble as trouble:
        messages.error(request, str(trouble))
        return redirect(f"{reverse('crawling:pages', args=[pk])}?run={run.number}")


@authenticated(needs="crawling.change_crawljob")
def record(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponseBase:
    """A WARC file of one page."""
    try:
        return send(page_file(wanted_page(pk, url)))
    except ArchiveTrouble as trouble:
        messages.error(request, str(trouble))
        return redirect("crawling:page", pk, url)


@authenticated(needs="crawling.change_crawljob")
def document(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponse:
    """The document itself, as a file that no browser opens by itself."""
    found = wanted_page(pk, url)
    try:
        content = whole_document_of(original_of(found))
    except ArchiveTrouble as trouble:
        messages.error(request, str(trouble))
        return redirect("crawling:page", pk, url)
    answer = HttpResponse(content, content_type="application/octet-stream")
    name = file_name(read_address(found.final_url), found.content_type)
    answer["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


@authenticated(needs="crawling.change_crawljob")
def file(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponseBase:
    """A file of the archive as far as it is committed, even while it is written."""
    row = get_object_or_404(ArchiveFile, pk=number, run__crawl=pk)
    try:
        return send(Download(row.name, WARC, packed_pieces(row), row.committed_length))
    except ArchiveTrouble as trouble:
        messages.error(request, str(trouble))
        return redirect("crawling:archive", pk)
