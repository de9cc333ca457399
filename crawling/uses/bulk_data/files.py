"""Files with all data of one kind of a run. They are made while they are sent, or are the Parquet
file that a job has made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Any

from crawling.base.errors import NotFound
from crawling.base.storage import pieces_of, storage
from crawling.datasets.job_tables import JobTables
from crawling.models import Run
from crawling.uses.bulk_data.bulk_table import (
    START,
    BulkColumn,
    BulkRows,
    BulkStep,
    BulkTable,
    Cells,
)
from crawling.uses.bulk_data.offers import count_missing_pages, usable_tables
from crawling.uses.bulk_data.table_zip import zip_pieces
from crawling.uses.bulk_data.tables import CELLS
from serving.downloads import PARQUET, TYPES, Download
from serving.row_lines import csv_lines

#: the byte order mark by which spreadsheets recognise UTF-8
MARK = "\ufeff"
ZIP = "application/zip"
#: the most files in a ZIP file, whose list is in memory while the file is written
MOST_ZIPPED = 50_000
TOO_MANY_TABLES = (
    f"A ZIP file has a file for each table, {MOST_ZIPPED:,} at the most, and the run has more "
    "tables. CSV, JSON Lines and Parquet have all of them."
)
OF_A_CELL = ("page_id", "url", "table", "caption", "row", "column", "text")


def bulk_file(run: Run, table: BulkTable, ending: str, *, with_mark: bool = False) -> Download:
    """A file with all data of a kind. with_mark: whether CSV begins with a byte order mark. Raises
    NotFound if a job must make the data first, or if a ZIP file would have too many files. Also
    raises ArchiveTrouble.
    """
    made = usable_tables(run, table) if ending == "parquet" or table.needs_job(run) else None
    behind = made.counts.get("behind", 0) if made else count_missing_pages(run, table)
    file = _make_download(run, table, ending, with_mark=with_mark)
    return replace(file, complete=not behind)


def _make_download(run: Run, table: BulkTable, ending: str, *, with_mark: bool) -> Download:
    name = f"crawl-{run.crawl_id}-run-{run.number}-{table.name}.{ending}"
    if ending == "parquet":
        return _parquet_download(usable_tables(run, table), name)
    if ending == "zip" and usable_tables(run, table).counts["tables"] > MOST_ZIPPED:
        raise NotFound(TOO_MANY_TABLES)
    found = _rows_of_table(run, table)
    if ending == "zip":
        return Download(name, ZIP, zip_pieces(found.rows))
    if ending == "csv":
        lines = csv_lines(*_names_and_cells(table, found))
        return Download(name, TYPES["csv"], chain([MARK], lines) if with_mark else lines)
    names = [one.name for one in found.columns]
    return Download(name, TYPES["jsonl"], _json_lines(names, found.rows))


def _parquet_download(made: JobTables, name: str) -> Download:
    made.path("rows")
    file = made.file("rows")
    return Download(name, PARQUET, pieces_of(storage().open(file)), storage().size(file))


def _rows_of_table(run: Run, table: BulkTable) -> BulkRows:
    if not table.needs_job(run):
        return table.rows(run, START)
    made = usable_tables(run, table)
    made.path("rows")
    described = made.ask("SELECT column_name, column_type FROM (DESCRIBE rows)")
    columns = [BulkColumn(*column) for column in described]
    shown = ", ".join(map(_column_expression, columns))
    rows = made.each(f"SELECT {shown} FROM rows")  # noqa: S608 - names of columns are quoted
    return BulkRows(columns, iter([BulkStep(None, rows)]))


def _column_expression(column: BulkColumn) -> str:
    name = column.name.replace('"', '""')
    if column.kind == "TIMESTAMP WITH TIME ZONE":
        return f"""strftime("{name}" AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S+00:00')"""
    return f'"{name}"'


def _names_and_cells(table: BulkTable, found: BulkRows) -> tuple[Sequence[str], Iterator[Cells]]:
    if table is CELLS:
        return OF_A_CELL, _cell_rows(found.rows)
    return [one.name for one in found.columns], (tuple(map(_cell_value, row)) for row in found.rows)


def _cell_rows(rows: Iterator[Cells]) -> Iterator[Cells]:
    """A row for each cell of a table."""
    for page, url, table, caption, row, cells, _ in rows:
        for column, text in enumerate(cells, 1):
            yield page, url, table, caption, row, column, text


def _cell_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def _json_lines(names: list[str], rows: Iterator[Cells]) -> Iterator[str]:
    for row in rows:
        told = dict(zip(names, row, strict=True))
        yield f"{json.dumps(told, ensure_ascii=False, default=datetime.isoformat)}\n"
