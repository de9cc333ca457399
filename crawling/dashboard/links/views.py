"""The links of a run: broken ones, those of a page and to it, media, and hosts."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from crawling.dashboard.base.requests import asked_number, wanted_run
from crawling.dashboard.links.reports import (
    each_broken,
    list_broken,
    list_hosts,
    list_links,
    list_media,
)
from crawling.errors import BadOrder
from crawling.links.parts import MOST_BEHIND, pages_behind
from crawling.links.query import LinkSearchTookTooLong
from crawling.models import Run
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import row_file, send
from serving.list_choices import choices_of

#: why a crawl that was never started has nothing here
NEVER_STARTED = "it has no links"
ROWS = 50
#: name and words of each list
LISTS = {
    "broken": "Broken links",
    "all": "All links",
    "media": "Media",
    "hosts": "Linked hosts",
}


@authenticated(needs="crawling.view_crawljob")
def show(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """The list `?show=`, and with `?page=` or `?target=` the links of a page or to a URL."""
    run = wanted_run(request, pk, NEVER_STARTED)
    source, target = (request.GET.get(name, "")[:5000] for name in ("page", "target"))
    shown = "all" if source or target else request.GET.get("show", "")
    shown = shown if shown in LISTS else "broken"
    here: dict[str, Any] = {
        "crawl": run.crawl,
        "run": run,
        "lists": LISTS,
        "shown": shown,
        "title": LISTS[shown],
        "source": source,
        "target": target,
        "behind": pages_behind(run),
        "most_behind": MOST_BEHIND,
        "after": request.GET.get("after", ""),
    }
    try:
        rows, following = _rows(request, run, shown, source, target)
    except (BadOrder, LinkSearchTookTooLong) as trouble:
        return render(request, "crawling/links.html", {**here, "trouble": str(trouble)})
    return render(request, "crawling/links.html", {**here, "rows": rows, "following": following})


def _rows(
    request: AuthenticatedRequest, run: Run, shown: str, source: str, target: str
) -> tuple[list[Any], str | int | None]:
    most, after = choices_of(request).most(ROWS), request.GET.get("after", "")[:5000]
    if shown == "broken":
        return list_broken(run, after=asked_number(request, "after") or 0, most=most)
    if shown == "all":
        return list_links(run, page=source, target=target, after=after, most=most)
    return (list_media if shown == "media" else list_hosts)(run, after=after, most=most)


@authenticated(needs="crawling.view_crawljob")
def broken_as_file(request: AuthenticatedRequest, pk: int, kind: str) -> HttpResponseBase:
    """Each link to each address that failed."""
    run = wanted_run(request, pk, NEVER_STARTED)
    return send(row_file(f"crawl-{pk}-run-{run.number}-broken-links", kind, each_broken(run)))
