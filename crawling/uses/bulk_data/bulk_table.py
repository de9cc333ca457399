"""A kind of data that a run has: its columns, its rows, and how it becomes a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from crawling.datasets.job_tables import TablesOfRun
from crawling.models import Run

TEXT, NUMBER, FRACTION, TRUTH, TEXTS = "VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR[]"
#: with an offset; in files of text in ISO 8601
MOMENT = "TIMESTAMPTZ"
Cells = Sequence[Any]


class BulkColumn(NamedTuple):
    name: str
    #: of DuckDB
    kind: str = TEXT


class BulkRows(NamedTuple):
    """Rows that are read while they are taken."""

    columns: Sequence[BulkColumn]
    rows: Iterator[Cells]
    #: what reading them counts, complete once all are taken
    counts: Mapping[str, int] = {}


def size_of(row: Cells) -> int:
    """In a CSV file, about."""
    return sum(map(_length, row)) + len(row)


def _length(cell: object) -> int:
    if cell is None:
        return 0
    return len(cell.encode()) if isinstance(cell, str) else len(str(cell))


def never(run: Run) -> bool:
    return False


@dataclass(frozen=True)
class BulkTable:
    #: in addresses and names of files, and on the command line
    name: str
    label: str
    #: what a row is, and what else there is to know
    about: str
    rows: Callable[[Run], BulkRows]
    count: Callable[[Run], int]
    #: of the datasets that it is read from, which a second reading makes: `written` or `read`;
    #: empty: it is read from rows of the database
    step: str = ""
    #: whether files of text are made of the Parquet file, too, since the rows take a job to read
    needs_job: Callable[[Run], bool] = never
    #: the bytes of some rows of a CSV file, of which its size is guessed; None: by its first rows
    sizes: Callable[[Run], Sequence[int]] | None = None
    #: what its rows depend on beside the pages and datasets of the run
    depends_on: Callable[[Run], str] = lambda run: ""
    #: endings of files beside CSV, JSON Lines and Parquet
    other_endings: tuple[str, ...] = ()

    @property
    def job_name(self) -> str:
        return f"bulk-{self.name}"

    @property
    def made(self) -> TablesOfRun:
        """The Parquet file that a job makes."""
        return TablesOfRun(self.job_name, ("rows",), ask_at=f"downloads/{self.name}")
