"""What extraction rules took out of a run's pages: in lists, and whole as a file."""

from __future__ import annotations

import json
from collections.abc import Iterator

from crawling.dashboard.base.spreadsheets import csv_lines
from crawling.models import ExtractedRow, Run
from crawling.paging import page_of

CHUNK = 1000
COLUMNS = ("url", "name", "value")


def list_extracted(
    run: Run, *, name: str = "", after: int = 0, limit: int
) -> tuple[list[ExtractedRow], int | None]:
    """Rows in the order in which they were found, of all rules or of one."""
    found = ExtractedRow.objects.filter(run=run, pk__gt=after).select_related("url").order_by("pk")
    return page_of(found.filter(name=name) if name else found, limit)


def as_csv(run: Run) -> Iterator[str]:
    """All rows as lines of a table."""
    return csv_lines(COLUMNS, _rows(run))


def as_json(run: Run) -> Iterator[str]:
    """All rows as one JSON array, a row a line."""
    separator = "["
    for cells in _rows(run):
        yield (
            f"{separator}\n{json.dumps(dict(zip(COLUMNS, cells, strict=True)), ensure_ascii=False)}"
        )
        separator = ","
    yield "[]\n" if separator == "[" else "\n]\n"


def _rows(run: Run) -> Iterator[tuple[str, str, str]]:
    after: int | None = 0
    while after is not None:
        rows, after = list_extracted(run, after=after, limit=CHUNK)
        yield from ((row.url.url, row.name, row.value) for row in rows)
