"""Extracted fields as columns of a list of pages, with one query for all pages that it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Count, F, Window
from django.db.models.functions import Left
from django.http import HttpRequest

from crawling.models import CrawlJob, ExtractedRow, Page, Run
from crawling.orders.purposes import Purpose

#: the most columns that the list of pages shows at once, and the number that it shows at first for
#: a crawl that collects data
MOST_CHOSEN, USUALLY = 8, 3
#: the number of characters of a value that are shown
SHOWN = 200


class FieldCell(NamedTuple):
    #: the beginning of the first value
    text: str
    #: the number of further values on the page
    more: int


def asked_fields(request: HttpRequest, crawl: CrawlJob, names: Sequence[str]) -> list[str]:
    """The names among `names` that are in `?fields=`, each once. Without that parameter, the fields
    that the purpose of the crawl suggests.
    """
    if "fields" in request.GET:
        asked = set(request.GET.getlist("fields"))
        return [name for name in names if name in asked][:MOST_CHOSEN]
    return list(names[:USUALLY]) if crawl.purpose == Purpose.DATA else []


def with_cells(run: Run, pages: Sequence[Page], names: Sequence[str]) -> Sequence[Page]:
    """The pages, each with its `cells` for a template."""
    for page, cells in zip(pages, cells_of(run, pages, names), strict=True):
        page.cells = cells  # type: ignore[attr-defined]
    return pages


def cells_of(run: Run, pages: Sequence[Page], names: Sequence[str]) -> list[list[FieldCell | None]]:
    """The cells of each page, in the order of the names. A cell is None if the page has no
    value.
    """
    found = _cells(run, [page.pk for page in pages], names) if names else {}
    of_pages = (found.get(page.pk, {}) for page in pages)
    return [[of_page.get(name) for name in names] for of_page in of_pages]


def _cells(run: Run, pages: Sequence[int], names: Sequence[str]) -> dict[int, dict[str, FieldCell]]:
    count = Window(Count("pk"), partition_by=[F("url"), F("name")])
    rows = ExtractedRow.objects.filter(run=run, url__in=pages, name__in=names)
    rows = rows.annotate(text=Left("value", SHOWN), count=count)
    first = rows.order_by("url", "name", "pk").distinct("url", "name")
    found: dict[int, dict[str, FieldCell]] = {}
    for url, name, text, number in first.values_list("url", "name", "text", "count"):
        found.setdefault(url, {})[name] = FieldCell(text, number - 1)
    return found
