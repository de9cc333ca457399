"""The page behind a share link: one crawl's report for people without an account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from crawling.dashboard.base.panels import shared_file, shared_page
from crawling.dashboard.run.shared_report import shared_report
from crawling.runs.crawls.share_links import shared_crawl
from serving.downloads import send
from serving.visitors import HEADERS, exceeds_shared_reports, seconds_left


@require_safe
@sensitive_variables("token")
def report(request: HttpRequest, token: str) -> HttpResponseBase:
    """Show the report that the token opens, or a page or file below it; it is the same for all.

    One that is unknown, expired, revoked or of a deleted crawl is answered alike.
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
        answer = send(file)
        for name, value in HEADERS.items():
            answer[name] = value
        return answer
    if run and (below := shared_page(run, request.GET.dict())):
        template, more = below
        return _page(template, facts | {"name": crawl.name, **more})
    return _page("shared/report.html", facts | {"report": shared_report(crawl)})


def _page(template: str, facts: Mapping[str, Any], status: int = 200) -> HttpResponse:
    """Rendered without the request: a logged-in user gets neither navigation nor messages here."""
    return HttpResponse(render_to_string(template, dict(facts)), status=status, headers=HEADERS)
