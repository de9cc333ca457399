"""Pages about rendered pages: the plain page beside the rendered one."""

from __future__ import annotations

from django.http import Http404, HttpResponse

from crawling.archive.reader import rendition_of
from crawling.dashboard.base.requests import wanted_page
from crawling.models import InquiryKind
from crawling.previews.inquiries import ask_once
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import render_live


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
