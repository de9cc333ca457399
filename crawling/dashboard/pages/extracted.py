"""What extraction rules took out of a run's pages: in lists, and whole as a file."""

from __future__ import annotations

from collections.abc import Iterator

from crawling.models import ExtractedRow, Run
from serving.downloads import Download, row_file
from serving.paging import page_of

CHUNK = 1000
COLUMNS = ("url", "name", "value")


def list_extracted(
    run: Run, *, name: str = "", after: int = 0, limit: int
) -> tuple[list[ExtractedRow], int | None]:
    """Rows in the order in which they were found, of all rules or of one."""
    found = ExtractedRow.objects.filter(run=run, pk__gt=after).select_related("url").order_by("pk")
    return page_of(found.filter(name=name) if name else found, limit)


def extracted_rows_file(run: Run, kind: str) -> Download:
    """All rows, as csv or json."""
    return row_file(f"crawl-{run.crawl_id}-run-{run.number}", kind, _rows(run), COLUMNS)


def _rows(run: Run) -> Iterator[dict[str, str]]:
    after: int | None = 0
    while after is not None:
        rows, after = list_extracted(run, after=after, limit=CHUNK)
        for row in rows:
            yield dict(zip(COLUMNS, (row.url.url, row.name, row.value), strict=True))
