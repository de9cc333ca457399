"""The kinds of data that a run has."""

from __future__ import annotations

from crawling.datasets.extracted_fields import latest_extraction
from crawling.datasets.lag import EXTRACTED
from crawling.datasets.parts import count_written_links
from crawling.models import Run
from crawling.uses.bulk_data.bulk_table import (
    NUMBER,
    TEXTS,
    TRUTH,
    BulkColumn,
    BulkPlace,
    BulkRows,
    BulkStep,
    BulkTable,
)
from crawling.uses.bulk_data.field_rows import (
    are_typed,
    count_pages_with_fields,
    field_rows,
    rules_state,
)
from crawling.uses.bulk_data.row_sources import (
    count_data,
    count_pages,
    count_texts,
    data_rows,
    link_rows,
    page_rows,
    sampled_row_sizes,
    text_rows,
    text_sizes,
)

#: a row of a table on a page, with its cells as a list
CELL_COLUMNS = (
    BulkColumn("page_id", NUMBER),
    BulkColumn("url"),
    BulkColumn("table", NUMBER),
    BulkColumn("caption"),
    BulkColumn("row", NUMBER),
    BulkColumn("cells", TEXTS),
    BulkColumn("is_cut", TRUTH),
)


def _made_rows(run: Run, place: BulkPlace) -> BulkRows:
    """The rows that the job has made. Raises NotFound or ArchiveTrouble."""
    names = ", ".join(f'"{one.name}"' for one in CELL_COLUMNS)
    rows = CELLS.made.wanted(run).each(f"SELECT {names} FROM rows")  # noqa: S608 - constants
    return BulkRows(CELL_COLUMNS, iter([BulkStep(None, rows)]))


def _count_made(run: Run) -> int:
    made = CELLS.made.latest(run)
    return made.counts["rows"] if made else 0


PAGES = BulkTable(
    "pages",
    "Pages",
    "One row a page: address, status, type, size, title, times, and a column for each extracted "
    "field.",
    page_rows,
    count_pages,
    sizes=sampled_row_sizes,
    depends_on=rules_state,
)
TEXT = BulkTable(
    "text",
    "Text",
    "One row a page: title, language, time, headings, the text of its main part, and all its text.",
    text_rows,
    count_texts,
    step="read",
    sizes=text_sizes,
)
CELLS = BulkTable(
    "tables",
    "Tables",
    "Every table of every page. CSV has a row for each cell; JSON Lines and Parquet have a row for "
    "each row, with its cells as a list; ZIP has a CSV file for each table.",
    _made_rows,
    _count_made,
    needs_job=lambda run: True,
    other_endings=("zip",),
)
FIELDS = BulkTable(
    "fields",
    "Extracted fields",
    "One row a page on which a rule found something, a column a rule.",
    field_rows,
    count_pages_with_fields,
    step=EXTRACTED,
    needs_job=are_typed,
    changed_by=latest_extraction,
    depends_on=rules_state,
)
LINKS = BulkTable(
    "links",
    "Links",
    "One row a link: its page, target, text, rel, and the status of the target if the run has "
    "tried it.",
    link_rows,
    count_written_links,
    step="written",
)
DATA = BulkTable(
    "structured-data",
    "Structured data",
    "One row a property or item of JSON-LD, microdata, metadata, Open Graph, feeds and images.",
    data_rows,
    count_data,
    step="read",
)
TABLES = (PAGES, TEXT, CELLS, FIELDS, LINKS, DATA)
BY_NAME = {table.name: table for table in TABLES}
