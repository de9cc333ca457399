"""The list of crawls."""

from __future__ import annotations

from typing import NamedTuple

from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from crawling.listing import Listing, Wanted, list_crawls
from crawling.models import CrawlJob
from crawling.selectors import CrawlView
from crawling.services.steering import possible

#: sort key ("" if the column cannot be sorted by) and head; numbers are best seen with the largest first
COLUMNS = (
    ("name", "Crawl", False),
    ("state", "State", False),
    ("fetched", "Fetched", True),
    ("known", "Known", True),
    ("", "Queued", True),
    ("failed", "Failed", True),
    ("", "Excluded", True),
    ("size", "Size", True),
    ("", "Pages/s", True),
    ("started", "Started", True),
)


class Column(NamedTuple):
    """A column's head. `sort`: what a click asks for; `order`: how the rows are sorted by it now."""

    label: str
    sort: str
    order: str
    is_number: bool


class Row(NamedTuple):
    """A crawl in the list, and the buttons it has."""

    crawl: CrawlJob
    view: CrawlView
    verbs: list[str]


@require_safe
@login_required
@permission_required("crawling.view_crawljob", raise_exception=True)
@vary_on_headers("HX-Request")
def crawls(request: HttpRequest) -> HttpResponse:
    """List crawls as the address says; a refresh gets the part that changes."""
    wanted = Wanted.read(request.GET)
    listing = list_crawls(wanted)
    facts = {"wanted": wanted, "listing": listing, "rows": _rows(listing), "columns": [_column(*one, wanted) for one in COLUMNS]}
    is_refresh = bool(getattr(request, "htmx", False))
    return render(request, "crawling/_crawls.html" if is_refresh else "crawling/crawls.html", facts)


def _rows(listing: Listing) -> list[Row]:
    return [Row(crawl, view, possible(view.state)) for crawl, view in listing.crawls]


def _column(key: str, label: str, is_number: bool, wanted: Wanted) -> Column:
    first, second = (f"-{key}", key) if is_number else (key, f"-{key}")
    sort = (second if wanted.sort == first else first) if key else ""
    order = {key: "ascending", f"-{key}": "descending"}.get(wanted.sort, "") if key else ""
    return Column(label, sort, order, is_number and key != "started")
