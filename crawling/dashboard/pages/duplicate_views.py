"""Which pages of a run are copies of others, as a page and as files."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from crawling.dashboard.base.requests import asked_number, of_run
from crawling.dashboard.pages.duplicates import (
    DuplicateSearchTookTooLong,
    SimilarityKind,
    duplicates_file,
    list_alike,
)
from crawling.models import Run
from serving.access import AuthenticatedRequest
from serving.downloads import send
from serving.list_choices import choices_of

#: why a crawl that was never started has nothing here
HAS_NO_PAGES = "it has no pages yet"
ROWS = 50
ENDINGS = {"csv": "CSV", "jsonl": "JSON Lines"}


@of_run(HAS_NO_PAGES)
def show(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """List the duplicates of `?kind=`, after the page `?after=`."""
    kind = _kind(request)
    after = asked_number(request, "after")
    here: dict[str, Any] = {
        "crawl": run.crawl,
        "run": run,
        "kinds": SimilarityKind,
        "kind": kind,
        "after": after,
        "endings": ENDINGS,
    }
    try:
        rows, following = list_alike(
            run, kind, after=after or 0, most=choices_of(request).most(ROWS)
        )
    except DuplicateSearchTookTooLong as trouble:
        return render(request, "crawling/duplicates.html", {**here, "trouble": str(trouble)})
    return render(
        request, "crawling/duplicates.html", {**here, "rows": rows, "following": following}
    )


@of_run(HAS_NO_PAGES)
def file(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    """All duplicates of `?kind=`; kind: of file."""
    return send(duplicates_file(run, _kind(request), kind))


def _kind(request: AuthenticatedRequest) -> SimilarityKind:
    """The kind asked for; nonsense counts as not given."""
    asked = request.GET.get("kind", "")
    return SimilarityKind(asked) if asked in SimilarityKind.values else SimilarityKind.EXACT
