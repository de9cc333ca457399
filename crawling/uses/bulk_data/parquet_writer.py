"""Writes rows to a Parquet file, slice by slice. Only one slice is in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from crawling.base.storage import storage
from crawling.datasets.job_tables import JobTables
from crawling.datasets.parquet import put_query
from crawling.datasets.query import rows_query
from crawling.uses.bulk_data.bulk_table import BulkColumn, Cells

#: the most rows and the most bytes of a slice, whichever is reached first
MOST_ROWS = 20_000
MOST_CHARACTERS = 6 * 1024 * 1024
#: the least rows of a row group of the file; DuckDB has no smaller groups
LEAST_GROUP = 2_048


class ParquetWriter:
    def __init__(self, of: JobTables, columns: Sequence[BulkColumn], *, slices: int = 0) -> None:
        """slices: the number of slices that are written already."""
        self._of, self._columns = of, columns
        self.slices = slices
        self._rows: list[Cells] = []
        self._characters = 0
        self._group = MOST_ROWS

    @property
    def is_full(self) -> bool:
        return len(self._rows) >= MOST_ROWS or self._characters >= MOST_CHARACTERS

    @property
    def has_slices(self) -> bool:
        """Whether all written slices exist. They are removed before the result of a job is
        stored.
        """
        names = map(self._slice_name, range(self.slices))
        return all(storage().size(name) is not None for name in names)

    def add(self, row: Cells) -> None:
        self._rows.append(row)
        self._characters += sum(map(_cell_size, row))

    def write_slice(self) -> None:
        """Store the rows that were added since the last slice. Raises OSError."""
        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        given = {f"c{at}": _object_array(values) for at, values in enumerate(columns)}
        self._group = min(self._group, max(LEAST_GROUP, len(self._rows)))
        put_query(self._slice_name(self.slices), self._select_query(), given)
        self._rows, self._characters = [], 0
        self.slices += 1

    def begin_anew(self) -> None:
        """Remove all slices. Raises OSError."""
        for number in range(self.slices):
            storage().delete(self._slice_name(number))
        self.slices = 0

    def finish(self, facts: Mapping[str, object]) -> int:
        """Make the table from all slices, and remove them. Return the table's size in bytes. facts:
        metadata of the file. Raises OSError.
        """
        self.write_slice()
        paths = [str(storage().path(self._slice_name(number))) for number in range(self.slices)]
        nothing = ", ".join(
            f'NULL::{one.kind} AS "{_escape_name(one.name)}"' for one in self._columns
        )
        rows, file = rows_query(paths, nothing), self._of.file("rows")
        size = put_query(file, rows, NOTHING, reads=paths, row_group=self._group, facts=facts)[1]
        self.begin_anew()
        return size

    def _slice_name(self, number: int) -> str:
        return self._of.file(f"rows-{number:05}")

    def _select_query(self) -> str:
        told = (
            f'c{at}::{one.kind} AS "{_escape_name(one.name)}"'
            for at, one in enumerate(self._columns)
        )
        # the names of columns are quoted, and their types contain no input of users
        return f"SELECT {', '.join(told)} FROM given"  # noqa: S608


NOTHING: dict[str, Any] = {"nothing": np.empty(0, np.int64)}


def _escape_name(name: str) -> str:
    return name.replace('"', '""')


def _cell_size(cell: Any) -> int:
    if isinstance(cell, list):
        return sum(map(len, cell)) + 8 * len(cell)
    return len(cell) if isinstance(cell, str) else 8


def _object_array(values: Sequence[Any]) -> np.ndarray:
    """An array of objects, since the values may be lists."""
    column = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        column[at] = value.isoformat() if isinstance(value, datetime) else value
    return column
