"""The work of the jobs: the rows of a table are written to a Parquet file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import duckdb

from crawling.base.errors import ArchiveTrouble
from crawling.datasets.job_tables import JobTables
from crawling.datasets.stored_documents import html_pages
from crawling.jobs.kinds import JobResult
from crawling.jobs.running_job import RunningJob
from crawling.uses.bulk_data.bulk_table import START, BulkColumn, BulkPlace, BulkTable
from crawling.uses.bulk_data.cell_reading import pages_behind_key, rows_of_tables
from crawling.uses.bulk_data.offers import facts_of, state_of_data
from crawling.uses.bulk_data.parquet_writer import ParquetWriter
from crawling.uses.bulk_data.tables import CELL_COLUMNS, CELLS

#: pages between two notes of the progress
PAGES_NOTED = 100
#: A turn lasts so long at least, or two jobs that users ask for would give way to each other at
#: once, again and again; a crawl has what it waits for within 5 s.
LEAST_SECONDS = 4.0
#: what a job notes of itself, beside what its rows count
OWN = frozenset({"rows", "slices", "done", "of", "seconds"})


def _turn(job: RunningJob) -> Callable[[], bool]:
    """Says whether the job goes on; to be asked after each step."""
    until = time.monotonic() + LEAST_SECONDS
    return lambda: time.monotonic() < until or job.goes_on()


class JobFile:
    """The file of a job so far. The job's bookmark is the place behind the last rows that are in a
    slice, with what they depend on besides the run's pages and datasets: if that has changed since,
    the job begins anew, or the file would have rows of two kinds. It does so, too, if it was killed
    while the slices went.
    """

    def __init__(self, table: BulkTable, job: RunningJob, columns: Sequence[BulkColumn]) -> None:
        """Raises OSError, JobGone."""
        basis = json.dumps([columns, table.depends_on(job.run)])
        slices = job.progress.get("slices", 0)
        self.writer = ParquetWriter(JobTables(table.made, job.row), columns, slices=slices)
        self._job, self._kept = job, {"basis": basis, "state": state_of_data(job.run, table)}
        if (held := job.row.bookmark) is None:
            return
        if held["basis"] == basis and self.writer.has_slices:
            self._kept = held
        else:
            self.writer.begin_anew()
            job.progress.clear()
            job.bookmark(None)

    @property
    def place(self) -> Any:
        return self._kept.get("place")

    @property
    def state(self) -> str:
        """The state of the data when the first of its rows were read."""
        return str(self._kept["state"])

    def write_slice(self, place: Any, **counts: float) -> None:
        """place: that behind its last row. Raises OSError, JobGone."""
        self.writer.write_slice()
        self._kept["place"] = place
        self._job.bookmark(self._kept, **counts | {"slices": self.writer.slices})


def make_rows(table: BulkTable, job: RunningJob) -> JobResult:
    """The job gives way after a page, or a part of a dataset, which takes some seconds. Raises
    ArchiveTrouble, JobGone.
    """
    try:
        file = JobFile(table, job, table.rows(job.run, START).columns)
        known = {"rows": 0, "of": table.count(job.run)} | job.progress
        place = BulkPlace(file.place, {name: known[name] for name in known.keys() - OWN})
        found, rows, turn = table.rows(job.run, place), known["rows"], _turn(job)
        writer = file.writer
        for some in found.steps:
            for row in some.rows:
                writer.add(row)
                rows += 1
                if writer.is_full and table.is_by_parts:
                    writer.write_slice()
            goes_on = turn()
            if writer.is_full or table.is_by_parts or not goes_on:
                told = {"rows": rows, "of": known["of"], "done": min(rows, known["of"])}
                file.write_slice(some.place, **told, **found.counts)
            if not goes_on:
                return None
        facts = facts_of(job.run, table)
        size = writer.finish(facts)
    except (OSError, duckdb.OutOfMemoryException) as error:
        raise ArchiveTrouble(f"The file cannot be written: {error}.") from error
    told = {"rows": rows, "bytes": size, "behind": facts["behind"], "state": file.state}
    return {**told, **found.counts}


def read_cells(job: RunningJob) -> JobResult:
    """A place is the id of the last page whose tables are in a slice. Raises ArchiveTrouble,
    JobGone.
    """
    counts = {"done": 0, "pages": 0, "tables": 0, "rows": 0, "unreadable": 0}
    try:
        file, turn = JobFile(CELLS, job, CELL_COLUMNS), _turn(job)
        counts |= {"of": html_pages(job.run).count()} | job.progress
        writer = file.writer
        for page in pages_behind_key(job.run, file.place or 0):
            found = rows_of_tables(job.run, page)
            counts["done"] += 1
            counts["unreadable"] += found is None
            counts["pages"] += bool(found)
            counts["tables"] += len({row[2] for row in found or ()})
            counts["rows"] += len(found or ())
            for row in found or ():
                writer.add(row)
            goes_on = turn()
            if writer.is_full or not goes_on:
                file.write_slice(page.pk, **counts)
            elif counts["done"] % PAGES_NOTED == 0:
                job.note(done=counts["done"])
            if not goes_on:
                return None
        size = writer.finish(facts_of(job.run, CELLS))
    except (OSError, duckdb.OutOfMemoryException) as error:
        raise ArchiveTrouble(f"The file cannot be written: {error}.") from error
    told = ("pages", "tables", "rows", "unreadable")
    return {**{name: counts[name] for name in told}, "bytes": size, "state": file.state}
