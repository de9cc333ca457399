"""What extraction rules took out of a run's pages: in lists, and whole as a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO

from crawling.models import ExtractedRow, Run

CHUNK = 1000
COLUMNS = ("url", "name", "value")
#: a spreadsheet would take a value that begins so for a formula
FORMULA = ("=", "+", "@", "\t", "\r")


def list_extracted(run: Run, *, name: str = "", after: int = 0, limit: int) -> tuple[list[ExtractedRow], int | None]:
    """Rows in the order in which they were found, of all rules or of one."""
    found = ExtractedRow.objects.filter(run=run, pk__gt=after).select_related("url").order_by("pk")
    rows = list((found.filter(name=name) if name else found)[: limit + 1])
    return rows[:limit], rows[limit - 1].pk if len(rows) > limit else None


def as_csv(run: Run) -> Iterator[str]:
    """All rows as lines of a table, for spreadsheets: what would be a formula there gets an apostrophe in front."""
    line = StringIO()
    writer = csv.writer(line)
    for cells in (COLUMNS, *_rows(run)):
        writer.writerow([f"'{cell}" if cell.startswith(FORMULA) else cell for cell in cells])
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def as_json(run: Run) -> Iterator[str]:
    """All rows as one JSON array, a row a line."""
    separator = "["
    for cells in _rows(run):
        yield f"{separator}\n{json.dumps(dict(zip(COLUMNS, cells, strict=True)), ensure_ascii=False)}"
        separator = ","
    yield "[]\n" if separator == "[" else "\n]\n"


def _rows(run: Run) -> Iterator[tuple[str, str, str]]:
    after: int | None = 0
    while after is not None:
        rows, after = list_extracted(run, after=after, limit=CHUNK)
        yield from ((row.url.url, row.name, row.value) for row in rows)
