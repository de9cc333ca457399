"""The page behind a share link: one crawl's report for people without an account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from crawling.dashboard.run.shared_report import shared_problems, shared_report
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Run
from crawling.runs.crawls.share_links import shared_crawl
from crawling.uses.link_check.problem_kinds import ProblemKind
from crawlsite.api.auth import exceeds_shared_reports, seconds_left

#: neither kept by caches, nor listed by search engines; the address is a secret, so links from here
#: do not send it
HEADERS = {
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}


@require_safe
@sensitive_variables("token")
def report(request: HttpRequest, token: str) -> HttpResponse:
    """Show the report that the token opens, or with `?kind=` its problems of that kind; it is the
    same for all.

    One that is unknown, expired, revoked or of a deleted crawl is answered alike.
    """
    if exceeds_shared_reports(request):
        answer = _page("shared/too_many.html", {}, status=429)
        answer["Retry-After"] = str(seconds_left())
        return answer
    link = shared_crawl(token)
    if link is None:
        return _page("shared/nothing.html", {}, status=404)
    crawl = link.crawl
    facts: dict[str, Any] = {"expires_at": link.expires_at}
    kind = request.GET.get("kind", "")
    if kind in list(ProblemKind) and (run := crawl.runs.filter(is_latest=True).first()):
        facts |= {"name": crawl.name, **_problems(run, ProblemKind(kind))}
        return _page("shared/problems.html", facts)
    return _page("shared/report.html", facts | {"report": shared_report(crawl)})


def _problems(run: Run, kind: ProblemKind) -> dict[str, Any]:
    try:
        rows, is_more = shared_problems(run, kind)
    except LinkSearchTookTooLong:
        trouble = "These problems take too long to find; ask who sent the link."
        return {"kind": kind, "trouble": trouble}
    return {"kind": kind, "rows": rows, "is_more": is_more}


def _page(template: str, facts: Mapping[str, Any], status: int = 200) -> HttpResponse:
    """Rendered without the request: a logged-in user gets neither navigation nor messages here."""
    return HttpResponse(render_to_string(template, dict(facts)), status=status, headers=HEADERS)
