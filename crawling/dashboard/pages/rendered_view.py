"""Pages about rendered pages: the plain page beside the rendered one, and two screenshots."""

from __future__ import annotations

from django.http import Http404, HttpResponse

from crawling.archive.reader import rendition_of
from crawling.dashboard.base.requests import wanted_page, wanted_page_of_any
from crawling.datasets.picture_diff import share_in_words
from crawling.models import InquiryKind
from crawling.previews.inquiries import ask_once
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import render_live


@authenticated(needs="crawling.view_crawljob")
def pictures(request: AuthenticatedRequest, pk: int, old: int, new: int) -> HttpResponse:
    """Show the screenshots of a page of the crawl and of an earlier page, of this or another crawl,
    and their differences.
    """
    before, after = wanted_page_of_any(old), wanted_page(pk, new)
    if not (before.has_picture and after.has_picture):
        raise Http404("No browser has made pictures of both pages.")
    question = {"old": before.pk, "new": after.pk}
    inquiry = ask_once(InquiryKind.PICTURE_DIFF, question, by=request.user, run=after.run)
    here = {
        "crawl": after.run.crawl,
        "run": after.run,
        "old": before,
        "new": after,
        "inquiry": inquiry,
        "found": inquiry.answer,
        "share": share_in_words(inquiry.answer["share"]) if inquiry.answer else "",
        "here": request.path,
    }
    return render_live(request, "crawling/pictures.html", "crawling/_pictures.html", here)


@authenticated(needs="crawling.view_crawljob")
def rendering(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponse:
    """Show the links and the text that only rendering brought to a page."""
    page = wanted_page(pk, url)
    if rendition_of(page, "dom") is None:
        raise Http404("No browser has rendered this page.")
    question = {"page": page.pk}
    inquiry = ask_once(InquiryKind.RENDERING_DIFF, question, by=request.user, run=page.run)
    here = {
        "crawl": page.run.crawl,
        "run": page.run,
        "page": page,
        "inquiry": inquiry,
        "found": inquiry.answer,
        "here": request.path,
    }
    return render_live(
        request, "crawling/page_rendering.html", "crawling/_page_rendering.html", here
    )
