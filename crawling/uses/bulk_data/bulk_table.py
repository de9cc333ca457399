"""A kind of a run's data: its columns, its rows, and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from crawling.dashboard.pages.filter import in_time
from crawling.datasets.job_tables import TablesOfRun
from crawling.datasets.lag import STEPS
from crawling.models import BackgroundJob, Page, Run

TEXT, NUMBER, FRACTION, TRUTH, TEXTS = "VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR[]"
#: with an offset; in text files in ISO 8601
MOMENT = "TIMESTAMPTZ"
Cells = Sequence[Any]


class BulkColumn(NamedTuple):
    name: str
    #: of DuckDB
    kind: str = TEXT


class BulkPlace(NamedTuple):
    """A place between rows, from which reading continues."""

    #: the place of a step; None for the beginning
    after: Any = None
    #: the counts of the rows before the place
    counts: Mapping[str, float] = {}


START = BulkPlace()


def pages_by_time(run: Run, place: BulkPlace) -> Iterator[Page]:
    """The run's pages in the order of their fetches, after a `place_of_page`."""
    after: tuple[datetime, int] | None = None
    if place.after:
        fetched_at, url_id = place.after
        after = datetime.fromisoformat(fetched_at), url_id
    return in_time(Page.objects.filter(run=run), after=after)


def place_of_page(fetched_at: datetime, url_id: int) -> tuple[str, int]:
    """The place after a page, as JSON. The place remains valid if the page is removed to be fetched
    again.
    """
    return fetched_at.isoformat(), url_id


class BulkStep(NamedTuple):
    """Rows that are read together, and the place after the last of them."""

    place: Any
    rows: Iterable[Cells]


class BulkRows(NamedTuple):
    """Rows, with the place after each step. They are read while they are taken."""

    columns: Sequence[BulkColumn]
    steps: Iterator[BulkStep]
    #: the counts that grow while rows are read; complete once all rows are taken
    counts: Mapping[str, float] = {}

    @property
    def rows(self) -> Iterator[Cells]:
        return chain.from_iterable(one.rows for one in self.steps)


def csv_size_of(row: Cells) -> int:
    """The approximate size of a row in a CSV file."""
    return sum(map(_length_as_text, row)) + len(row)


def _length_as_text(cell: object) -> int:
    if cell is None:
        return 0
    return len(cell.encode()) if isinstance(cell, str) else len(str(cell))


def needs_no_job(run: Run) -> bool:
    return False


def never_changed(run: Run) -> BackgroundJob | None:
    return None


@dataclass(frozen=True)
class BulkTable:
    #: the name in addresses, in names of files, and on the command line
    name: str
    label: str
    #: the meaning of a row, and further notes
    about: str
    rows: Callable[[Run, BulkPlace], BulkRows]
    count: Callable[[Run], int]
    #: the last step of `crawling.datasets.lag` that a page must have passed to be in this data;
    #: empty if there is none
    step: str = ""
    #: whether text files, too, are made from the Parquet file, because reading the rows requires a
    #: job
    needs_job: Callable[[Run], bool] = needs_no_job
    #: returns the latest job that changes the rows of all pages; orders of files wait for its end
    changed_by: Callable[[Run], BackgroundJob | None] = never_changed
    #: returns the sizes of some rows of a CSV file in bytes, from which its size is estimated; None
    #: to use its first rows
    sizes: Callable[[Run], Sequence[int]] | None = None
    #: returns a text that changes with everything on which the rows depend besides the run's pages
    #: and datasets
    depends_on: Callable[[Run], str] = lambda run: ""
    #: suffixes of files besides CSV, JSON Lines and Parquet
    other_endings: tuple[str, ...] = ()

    @property
    def is_by_parts(self) -> bool:
        """Whether the data is read from the parts of datasets, one after the other."""
        return self.step in STEPS

    @property
    def job_name(self) -> str:
        return f"bulk-{self.name}"

    @property
    def made(self) -> TablesOfRun:
        """The Parquet file that a job makes."""
        return TablesOfRun(self.job_name, ("rows",), ask_at=f"downloads/{self.name}")
