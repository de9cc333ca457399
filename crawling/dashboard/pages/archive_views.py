"""What the archive has: a page as it was, without anything that could act in the reader's browser;
a list of its files.
"""

from __future__ import annotations

import re

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.clickjacking import xframe_options_sameorigin

from crawling.archive.reader import original_of
from crawling.archive.viewer import document_of, head_of, snapshot_of
from crawling.dashboard.base.requests import wanted_page
from crawling.dashboard.pages.rows import weight_of
from crawling.errors import ArchiveTrouble
from crawling.models import ArchiveFile, CrawlJob, Page
from crawling.web.secret_headers import masked_head
from serving.access import AuthenticatedRequest, authenticated

#: no script, no form, no request to anywhere, an origin of its own: the page's author is not
#: trusted
SAFE = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
)
HTML = ("text/html", "application/xhtml+xml")
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
#: files of an archive on a page
FILES_SHOWN = 200
CHARSET = re.compile(r"[A-Za-z0-9._:-]{1,40}")


@authenticated(needs="crawling.view_crawljob")
def page(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponse:
    """Show a page's record: its headers, and the document in a frame that can do nothing."""
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
        shown = {**here, "header": header, "head": head, "type": _shown_as(found)}
        return render(request, "crawling/page.html", shown)
    except ArchiveTrouble as trouble:
        return render(request, "crawling/page.html", {**here, "trouble": str(trouble)})


@xframe_options_sameorigin
@authenticated(needs="crawling.view_crawljob")
def content(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponse:
    """The document, as a type that a browser only shows; HTML without what it would block."""
    found = wanted_page(pk, url)
    shown_as = _shown_as(found)
    if not shown_as:
        raise Http404("A document of this type is not shown, only downloaded with its record.")
    try:
        original = original_of(found)
        if found.content_type in HTML:
            document = snapshot_of(original, _charset_of(found))
        else:
            document = document_of(original)
    except ArchiveTrouble as trouble:
        raise Http404(str(trouble)) from trouble
    answer = HttpResponse(document, content_type=shown_as)
    answer["Content-Security-Policy"] = SAFE
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Referrer-Policy"] = "no-referrer"
    return answer


@authenticated(needs="crawling.view_crawljob")
def files(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """List the files of a crawl's archive, the latest run's first."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    rows = (
        ArchiveFile.objects.filter(run__crawl=crawl, committed_length__gt=0)
        .select_related("run")
        .order_by("-run", "pk")
    )
    shown = Paginator(rows, FILES_SHOWN).get_page(request.GET.get("page"))
    return render(request, "crawling/archive.html", {"crawl": crawl, "files": shown})


def _shown_as(found: Page) -> str:
    """The type under which a browser may have the document; empty: under none."""
    if found.content_type in HTML:
        return f"text/html; charset={_charset_of(found)}"
    if found.content_type.startswith("text/"):
        return f"text/plain; charset={_charset_of(found)}"
    return found.content_type if found.content_type in IMAGES else ""


def _charset_of(found: Page) -> str:
    return found.charset if CHARSET.fullmatch(found.charset) else "utf-8"
