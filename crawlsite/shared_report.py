"""The page behind a share link: one crawl's report for people without an account."""

from __future__ import annotations

from collections.abc import Iterable
from threading import BoundedSemaphore
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.debug import sensitive_variables

from crawling.dashboard.base.panels import shared_file, shared_page
from crawling.dashboard.base.visitor_pages import (
    PAGES,
    busy_answer,
    for_visitors,
    nothing_here,
    visitor_page,
)
from crawling.dashboard.run.shared_report import shared_report
from crawling.runs.crawls.share_links import shared_crawl
from crawlsite.download_limit import CountedStream
from serving.downloads import Download, send
from serving.visitors import HEADERS

#: the places for files that strangers download; users have other places left
FILES = BoundedSemaphore(max(1, settings.WEB_THREADS // 8))


@for_visitors
@sensitive_variables("token")
def report(request: HttpRequest, token: str) -> HttpResponseBase:
    """Show the report of the token, or a page or file below it. The report is the same for all
    visitors.

    The answer is the same for a token that is unknown, expired or revoked, or whose crawl is
    deleted.
    """
    link = shared_crawl(token)
    if link is None:
        return nothing_here()
    crawl = link.crawl
    facts: dict[str, Any] = {"expires_at": link.expires_at}
    run = crawl.runs.filter(is_latest=True).first()
    if run and (file := shared_file(run, request.GET.dict())):
        return _send_within_limit(file)
    if run and request.GET:
        if not PAGES.acquire(blocking=False):
            return busy_answer()
        try:
            if below := shared_page(run, request.GET.dict()):
                template, more = below
                return visitor_page(template, facts | {"name": crawl.name, **more})
        finally:
            PAGES.release()
    return visitor_page("shared/report.html", facts | {"report": shared_report(crawl)})


def _send_within_limit(file: Download) -> HttpResponseBase:
    if not FILES.acquire(blocking=False):
        return busy_answer()
    answer = send(file)
    pieces = cast(Iterable[bytes], answer.streaming_content)
    answer.streaming_content = CountedStream(pieces, FILES)
    for name, value in HEADERS.items():
        answer[name] = value
    return answer
