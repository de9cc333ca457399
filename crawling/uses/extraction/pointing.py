"""Previews of rules beside a stored page. A user points at an element to make a rule, and sees the
matches of each rule on this page and on the latest other pages.

The stored page is in a frame with a separate origin, in which only our two scripts run.
"""

from __future__ import annotations

import secrets

from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import Http404, HttpResponse
from django.urls import path
from django.views.decorators.clickjacking import xframe_options_sameorigin

from crawling.archive.snapshot_view import snapshot_of
from crawling.base.errors import ArchiveTrouble
from crawling.dashboard.base.requests import wanted_page
from crawling.dashboard.pages.stored_view import HTML, charset_of
from crawling.datasets.extracted_fields import field_rules
from crawling.models import Page
from crawling.uses.extraction.rules_page import preview_facts
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import render_live

#: no forms, no requests, a separate origin, and no scripts except those with the nonce of this
#: answer
POLICY = (
    "sandbox allow-scripts; default-src 'none'; img-src data:; style-src 'unsafe-inline' data:; "
    "font-src data:; script-src 'nonce-{}'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
SCRIPTS = ("vendor/css-selector-generator-3.9.4/index.js", "point.js")


def has_selectable_elements(page: Page) -> bool:
    return page.content_type in HTML and bool(page.bytes)


@authenticated(needs="crawling.view_crawljob")
def point_at_fields_page(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponse:
    """Show a stored page, and beside it the matches of `?rules=` on this page and on others."""
    page = wanted_page(pk, url)
    if not has_selectable_elements(page):
        raise Http404("Rules find something on stored HTML pages only.")
    here = {"crawl": page.run.crawl, "run": page.run, "page": page}
    here |= preview_facts(request, page.run, field_rules(page.run), page=page)
    return render_live(request, "extraction/fields.html", "extraction/_rule_preview.html", here)


@xframe_options_sameorigin
@authenticated(needs="crawling.view_crawljob")
def framed_page(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponse:
    """The stored page as it looked. It has no scripts except ours, which report selectors."""
    page = wanted_page(pk, url)
    if not has_selectable_elements(page):
        raise Http404("Rules find something on stored HTML pages only.")
    try:
        document = snapshot_of(page, charset_of(page), lambda _: "").document
    except ArchiveTrouble as trouble:
        raise Http404(str(trouble)) from trouble
    word = secrets.token_urlsafe(16)
    ours = "".join(
        f'<script nonce="{word}" src="{request.build_absolute_uri(staticfiles_storage.url(name))}">'
        "</script>"
        for name in SCRIPTS
    )
    answer = HttpResponse(
        f"<!doctype html>{ours}".encode() + document, content_type="text/html; charset=utf-8"
    )
    answer["Content-Security-Policy"] = POLICY.format(word)
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Referrer-Policy"] = "no-referrer"
    answer["Cache-Control"] = "no-store"
    return answer


urlpatterns = [
    path("<int:pk>/pages/<int:url>/fields/", point_at_fields_page, name="fields"),
    path("<int:pk>/pages/<int:url>/fields/page/", framed_page, name="fields-page"),
]
