"""Links from pages to their structured data, and its kinds on a stored page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawling.dashboard.base.panels import Link, Panel, Place, of_run
from crawling.models import Page
from crawling.uses.structured_data.structured_data import structured_of_page
from crawling.web.structured_rows import DataKind

#: of a stored page, as files
TABLES_LINKED = 20


def _structured(page: Page) -> Mapping[str, Any]:
    structured = structured_of_page(page)
    tables = sum(count.rows for kind, count in structured or () if kind == DataKind.TABLE)
    return {"structured": structured, "tables": range(1, min(tables, TABLES_LINKED) + 1)}


LINKS = (Link(Place.PAGES, "Structured data", of_run("crawling:structured-data")),)
PANELS = (Panel(Place.PAGE, "structured_data/_page.html", _structured),)
