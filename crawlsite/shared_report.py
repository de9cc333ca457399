"""The page behind a share link: one crawl's report for people without an account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import BoundedSemaphore
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from crawling.dashboard.base.panels import shared_file, shared_page
from crawling.dashboard.run.shared_report import shared_report
from crawling.runs.crawls.share_links import shared_crawl
from crawlsite.download_limit import AGAIN_SECONDS, CountedStream
from serving.downloads import Download, send
from serving.visitors import HEADERS, exceeds_shared_reports, seconds_left

#: pages below reports, which may take ten seconds of a processor, and files that strangers have in
#: hand at once: users have threads, and places for downloads, left
PAGES = BoundedSemaphore(max(1, settings.WEB_THREADS // 4))
FILES = BoundedSemaphore(max(1, settings.WEB_THREADS // 8))


@require_safe
@sensitive_variables("token")
def report(request: HttpRequest, token: str) -> HttpResponseBase:
    """Show the report that the token opens, or a page or file below it; the report is the same for
    all.

    Unknown, expired and revoked tokens, and those of deleted crawls, get the same answer.
    """
    if exceeds_shared_reports(request):
        refusal = _page("shared/too_many.html", {}, status=429)
        refusal["Retry-After"] = str(seconds_left())
        return refusal
    link = shared_crawl(token)
    if link is None:
        return _page("shared/nothing.html", {}, status=404)
    crawl = link.crawl
    facts: dict[str, Any] = {"expires_at": link.expires_at}
    run = crawl.runs.filter(is_latest=True).first()
    if run and (file := shared_file(run, request.GET.dict())):
        return _sent(file)
    if run and request.GET:
        if not PAGES.acquire(blocking=False):
            return _busy()
        try:
            if below := shared_page(run, request.GET.dict()):
                template, more = below
                return _page(template, facts | {"name": crawl.name, **more})
        finally:
            PAGES.release()
    return _page("shared/report.html", facts | {"report": shared_report(crawl)})


def _sent(file: Download) -> HttpResponseBase:
    if not FILES.acquire(blocking=False):
        return _busy()
    answer = send(file)
    pieces = cast(Iterable[bytes], answer.streaming_content)
    answer.streaming_content = CountedStream(pieces, FILES)
    for name, value in HEADERS.items():
        answer[name] = value
    return answer


def _busy() -> HttpResponse:
    answer = _page("shared/too_many.html", {}, status=503)
    answer["Retry-After"] = str(AGAIN_SECONDS)
    return answer


def _page(template: str, facts: Mapping[str, Any], status: int = 200) -> HttpResponse:
    """Rendered without the request: a logged-in user gets neither navigation nor messages here."""
    return HttpResponse(render_to_string(template, dict(facts)), status=status, headers=HEADERS)
