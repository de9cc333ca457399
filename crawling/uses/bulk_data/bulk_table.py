"""A kind of data that a run has: its columns, its rows, and how it becomes a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from crawling.datasets.job_tables import TablesOfRun
from crawling.datasets.lag import STEPS
from crawling.models import Run

TEXT, NUMBER, FRACTION, TRUTH, TEXTS = "VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR[]"
#: with an offset; in files of text in ISO 8601
MOMENT = "TIMESTAMPTZ"
Cells = Sequence[Any]


class BulkColumn(NamedTuple):
    name: str
    #: of DuckDB
    kind: str = TEXT


class BulkPlace(NamedTuple):
    """A place between rows, from which reading goes on."""

    #: that of the last BulkStep; None: the beginning
    after: Any = None
    #: what was counted until there
    counts: Mapping[str, float] = {}


START = BulkPlace()


class BulkStep(NamedTuple):
    """Rows that are read together, and the place behind them."""

    place: Any
    rows: Iterable[Cells]


class BulkRows(NamedTuple):
    """Rows that are read while they are taken."""

    columns: Sequence[BulkColumn]
    steps: Iterator[BulkStep]
    #: what reading them counts, complete once all are taken
    counts: Mapping[str, float] = {}

    @property
    def rows(self) -> Iterator[Cells]:
        return chain.from_iterable(one.rows for one in self.steps)


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
    rows: Callable[[Run, BulkPlace], BulkRows]
    count: Callable[[Run], int]
    #: the last of the steps of `crawling.datasets.lag` by which pages get into it; empty: none
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
    def is_by_parts(self) -> bool:
        """Whether it is read from the parts of datasets, one after the other."""
        return self.step in STEPS

    @property
    def job_name(self) -> str:
        return f"bulk-{self.name}"

    @property
    def made(self) -> TablesOfRun:
        """The Parquet file that a job makes."""
        return TablesOfRun(self.job_name, ("rows",), ask_at=f"downloads/{self.name}")
