"""Stored pages in a frame without any permissions: the page that is opened, and the pages to which
its links lead.

Browsers send no login cookies with the requests of such a frame. So links have a token for one
user, one crawl and one viewer, which is a frame on a page. The viewer's latest page is remembered
for the line above the frame.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.core import signing
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from crawling.archive.reader import page_with_content, rendition_of
from crawling.archive.snapshot_view import Snapshot, snapshot_of
from crawling.archive.viewer import document_of, resource_of
from crawling.base.errors import ArchiveTrouble, NotFound
from crawling.dashboard.base.requests import get_page, wanted_page
from crawling.models import CrawlJob, Page
from serving.access import AuthenticatedRequest, authenticated

#: No scripts, no forms, no requests, and a separate origin, since the page's author is not trusted.
#: Images, styles and fonts are in the document itself.
SAFE = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline' data:; font-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)
HTML = ("text/html", "application/xhtml+xml")
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
CHARSET = re.compile(r"[A-Za-z0-9._:-]{1,40}")
VIEWER = re.compile(r"[A-Za-z0-9_-]{1,40}")
PERMISSION = "crawling.view_crawljob"
PICTURES = ("view", "thumbnail")
#: the time for which a browser shows a picture without asking whether it is withdrawn
PICTURE_SECONDS = 300
TOKEN = "crawling.stored_view"  # noqa: S105  # its salt
LASTS = timedelta(hours=4)
EXPIRED = "This view has expired; open the page from the dashboard again."


@dataclass(frozen=True)
class ViewToken:
    user: int
    crawl: int
    viewer: str

    def signed(self) -> str:
        return signing.dumps([self.user, self.crawl, self.viewer], salt=TOKEN)

    @property
    def key(self) -> str:
        return f"{TOKEN}:{self.user}:{self.crawl}:{self.viewer}"


@xframe_options_sameorigin
@authenticated(needs=PERMISSION)
def content(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponse:
    """The document, with a type that a browser only displays; HTML with its archived files.

    ?viewer= is the name of the frame.
    """
    token = ViewToken(request.user.pk, pk, _requested_viewer(request))
    try:
        return _answer(wanted_page(pk, url), token)
    except ArchiveTrouble as trouble:
        raise Http404(str(trouble)) from trouble


@authenticated(needs=PERMISSION)
def picture(request: AuthenticatedRequest, pk: int, url: int, kind: str) -> HttpResponse:
    """The screenshot of a rendered page (`view`), or a small one (`thumbnail`)."""
    shown = rendition_of(wanted_page(pk, url), kind) if kind in PICTURES else None
    if shown is None:
        raise Http404("No browser has made such a picture of this page.")
    etag = f'"{shown.archive_file_id}-{shown.archive_offset}"'
    answer = get_conditional_response(request, etag=etag)
    if answer is None:
        try:
            content = resource_of(shown)
        except ArchiveTrouble as trouble:
            raise Http404(str(trouble)) from trouble
        answer = HttpResponse(content, content_type=shown.content_type)
    _with_safe_headers(answer)
    answer["ETag"] = etag
    answer["Cache-Control"] = f"private, max-age={PICTURE_SECONDS}"
    return answer


@xframe_options_sameorigin
@require_GET
def stored(request: HttpRequest, token: str, number: int) -> HttpResponse:
    """The page to which a link in a frame leads."""
    try:
        seen = ViewToken(*signing.loads(token, salt=TOKEN, max_age=LASTS))
    except signing.BadSignature:
        return framed_sentence(EXPIRED)
    user = User.objects.filter(pk=seen.user, is_active=True).first()
    if user is None or not user.has_perm(PERMISSION):
        return framed_sentence("You may not see this archive.")
    try:
        return _answer(get_page(seen.crawl, number), seen)
    except (NotFound, ArchiveTrouble) as trouble:
        return framed_sentence(str(trouble))


@authenticated(needs=PERMISSION)
def shown(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """The lines about the page that the frame `?viewer=` shows now."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    token = ViewToken(request.user.pk, pk, _requested_viewer(request))
    seen = cache.get(token.key)
    if seen is None:
        return HttpResponse(status=204)  # the page is still being joined with its files
    here = {"crawl": crawl, "shown": get_page(pk, seen["page"]), "told": seen}
    return render(request, "crawling/_shown.html", here)


def _requested_viewer(request: HttpRequest) -> str:
    named = request.GET.get("viewer", "")
    return named if VIEWER.fullmatch(named) else ""


def _answer(page: Page, token: ViewToken) -> HttpResponse:
    """Raises ArchiveTrouble."""
    signed = token.signed()
    answer, snapshot = framed_page(page, lambda to: reverse("stored-page", args=[signed, to.pk]))
    if token.viewer:
        told = {name: count for name, count in asdict(snapshot).items() if name != "document"}
        cache.set(token.key, {"page": page.pk, **told}, LASTS.total_seconds())
    return answer


def framed_page(page: Page, address_of: Callable[[Page], str]) -> tuple[HttpResponse, Snapshot]:
    """The document of a page for a frame, and what is shown with it.

    address_of: returns the address to which a link to a stored page leads; "" for none. Raises
    ArchiveTrouble.
    """
    kind = shown_as(page)
    if not kind:
        raise ArchiveTrouble(
            "A document of this type is not shown, only downloaded with its record."
        )
    snapshot = Snapshot()
    if page.content_type in HTML:
        snapshot = snapshot_of(page, charset_of(page), address_of)
        kind = "text/html; charset=utf-8"
    else:
        snapshot.document = document_of(page_with_content(page))
    return _with_safe_headers(HttpResponse(snapshot.document, content_type=kind)), snapshot


def framed_sentence(text: str) -> HttpResponse:
    """The answer for a frame, without the header that keeps our own pages out of frames."""
    return _with_safe_headers(
        HttpResponse(text, content_type="text/plain; charset=utf-8", status=404)
    )


def _with_safe_headers(answer: HttpResponse) -> HttpResponse:
    answer["Content-Security-Policy"] = SAFE
    answer["X-Content-Type-Options"] = "nosniff"
    answer["X-DNS-Prefetch-Control"] = "off"
    answer["Referrer-Policy"] = "no-referrer"
    answer["Cache-Control"] = "no-store"
    return answer


def shown_as(found: Page) -> str:
    """The content type with which a browser may get the document; empty if there is none."""
    if found.content_type in HTML:
        return f"text/html; charset={charset_of(found)}"
    if found.content_type.startswith("text/"):
        return f"text/plain; charset={charset_of(found)}"
    return found.content_type if found.content_type in IMAGES else ""


def charset_of(found: Page) -> str:
    return found.charset if CHARSET.fullmatch(found.charset) else "utf-8"
