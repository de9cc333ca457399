"""The structured data of a run, as a page and as files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import path

from crawling.base.errors import BadOrder
from crawling.dashboard.base.lags import marked_download, read_lag
from crawling.dashboard.base.panels import Link, Panel, Place, page_of_run
from crawling.dashboard.base.requests import of_run
from crawling.dashboard.base.run_pages import file_route
from crawling.datasets.lag import Derived
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Page, Run, SeedSource, SeedSourceKind
from crawling.uses.structured_data.structured_data import (
    NAMED,
    SIZED,
    DataFilter,
    count_facets,
    count_kinds,
    list_structured,
    structured_file,
    structured_of_page,
)
from crawling.web.addresses import fingerprint, signed_64_bits
from crawling.web.structured_rows import DataKind
from serving.access import AuthenticatedRequest
from serving.downloads import ENDINGS, send
from serving.list_choices import choices_of
from serving.requests import asked_text

#: the reason why a crawl that was never started has no structured data
NEVER_STARTED = "it has no structured data"
ROWS = 50
#: the most characters of a filter
LONGEST = 5000


@of_run(NEVER_STARTED)
def structured_data_page(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Show the rows of a `?kind=`, `?type=`, `?name=` or `?page=`, after a key."""
    wanted = _requested_filter(request)
    here: dict[str, Any] = {
        "crawl": run.crawl,
        "run": run,
        "wanted": wanted,
        "kind": DataKind(wanted.kind) if wanted.kind else None,
        "is_named": wanted.kind in NAMED,
        "has_sizes": wanted.kind in ("", *SIZED),
        "lag": read_lag(run, Derived.STRUCTURED_DATA),
        "after": asked_text(request.GET, "after", most=LONGEST),
        "endings": ENDINGS,
    }
    try:
        here |= _list_facts(request, run, wanted)
    except (BadOrder, LinkSearchTookTooLong) as trouble:
        here["trouble"] = str(trouble)
    return render(request, "structured_data/structured_data.html", here)


def _list_facts(request: AuthenticatedRequest, run: Run, wanted: DataFilter) -> dict[str, Any]:
    most, after = choices_of(request).most(ROWS), asked_text(request.GET, "after", most=LONGEST)
    rows, following = list_structured(run, wanted, after=after, most=most)
    stored = _stored_pages(run, {row.page for row in rows if row.kind == DataKind.TABLE})
    return {
        "kinds": [(DataKind(one.name), one) for one in count_kinds(run, page=wanted.page)],
        "facets": count_facets(run, wanted) if wanted.kind else [],
        "rows": [
            (row.kind, row, stored.get(row.page) if row.kind == DataKind.TABLE else None)
            for row in rows
        ],
        "sources": _feeds_used_as_sources(run) if wanted.kind == DataKind.FEED else (),
        "following": following,
    }


def _stored_pages(run: Run, addresses: set[str]) -> dict[str, int]:
    if not addresses:
        return {}
    prints = [signed_64_bits(fingerprint(address)) for address in addresses]
    pages = Page.objects.filter(run=run, url__fingerprint__in=prints, url__url__in=addresses)
    return dict(pages.values_list("url__url", "pk"))


def _feeds_used_as_sources(run: Run) -> set[str]:
    """The addresses of the feeds that give the crawl seeds."""
    feeds = SeedSource.objects.filter(crawl=run.crawl_id, kind=SeedSourceKind.FEED)
    return set(feeds.values_list("url", flat=True))


@of_run(NEVER_STARTED)
def send_structured_file(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    stem = f"crawl-{run.crawl_id}-run-{run.number}-structured-data"
    file = structured_file(run, stem, kind, _requested_filter(request))
    return send(marked_download(file, run, Derived.STRUCTURED_DATA))


def _requested_filter(request: HttpRequest) -> DataFilter:
    """The filter in the request. An unknown kind is ignored."""
    kind = request.GET.get("kind", "")
    texts = {name: asked_text(request.GET, name, most=LONGEST) for name in ("type", "name", "page")}
    return DataFilter(kind if kind in list(DataKind) else "", **texts)


urlpatterns = [
    path("<int:pk>/structured-data/", structured_data_page, name="structured-data"),
    file_route("structured-data", ENDINGS, send_structured_file),
]


#: the number of a stored page's tables that are linked as files
TABLES_LINKED = 20


def _structured_data_panel(page: Page) -> Mapping[str, Any]:
    structured = structured_of_page(page)
    tables = sum(count.rows for kind, count in structured or () if kind == DataKind.TABLE)
    return {"structured": structured, "tables": range(1, min(tables, TABLES_LINKED) + 1)}


LINKS = (Link(Place.DATA, "Structured data", page_of_run("crawling:structured-data"), order=0),)
PANELS = (Panel(Place.PAGE, "structured_data/_page.html", _structured_data_panel),)
