"""The work of the jobs that write the rows of a table to a Parquet file."""

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
from crawling.jobs.running_job import JobWaits, RunningJob
from crawling.uses.bulk_data.bulk_table import START, BulkColumn, BulkPlace, BulkTable
from crawling.uses.bulk_data.cell_reading import pages_behind_key, rows_of_tables
from crawling.uses.bulk_data.offers import parquet_metadata, state_of_data
from crawling.uses.bulk_data.parquet_writer import ParquetWriter
from crawling.uses.bulk_data.tables import CELL_COLUMNS, CELLS

#: the number of pages after which the progress is stored
PAGES_NOTED = 100
#: The shortest turn. Without it, two jobs that users requested would give way to each other again
#: and again at once. A crawl still gets the units for which it waits within 5 s.
LEAST_SECONDS = 4.0
READ_AGAIN = "it waits until the stored pages are read by other rules"
#: the counts that the job itself stores, besides those of its rows
OWN = frozenset({"rows", "slices", "done", "of", "seconds"})


def _continue_check(job: RunningJob) -> Callable[[], bool]:
    """Return a function that returns whether the job may continue. The job calls it after each
    step.
    """
    until = time.monotonic() + LEAST_SECONDS
    return lambda: time.monotonic() < until or job.goes_on()


class JobFile:
    """The unfinished file of a job. The job's bookmark has the place after the last rows in a
    slice, and the state of everything on which the rows depend besides the run's pages and
    datasets. If that state has changed, the job starts again, so that the file never has rows of
    two states. The job also begins anew if it was killed while the slices were being removed.
    """

    def __init__(self, table: BulkTable, job: RunningJob, columns: Sequence[BulkColumn]) -> None:
        """Raises OSError or JobGone."""
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
        """The state of the data when the first rows were read."""
        return str(self._kept["state"])

    def write_slice(self, place: Any, **counts: float) -> None:
        """Store the slice. place: the place after its last row. Raises OSError or JobGone."""
        self.writer.write_slice()
        self._kept["place"] = place
        self._job.bookmark(self._kept, **counts | {"slices": self.writer.slices})


def make_rows(table: BulkTable, job: RunningJob) -> JobResult:
    """Write the rows of a table. The job gives way after a page, or after a part of a dataset,
    which takes a few seconds. Raises ArchiveTrouble, JobGone, or JobWaits while another job changes
    the rows.
    """
    if (changing := table.changed_by(job.run)) and changing.is_open:
        raise JobWaits(READ_AGAIN)
    try:
        file = JobFile(table, job, table.rows(job.run, START).columns)
        known = {"rows": 0, "of": table.count(job.run)} | job.progress
        place = BulkPlace(file.place, {name: known[name] for name in known.keys() - OWN})
        found, rows, turn = table.rows(job.run, place), known["rows"], _continue_check(job)
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
        facts = parquet_metadata(job.run, table)
        size = writer.finish(facts)
    except (OSError, duckdb.OutOfMemoryException) as error:
        raise ArchiveTrouble(f"The file cannot be written: {error}.") from error
    told = {"rows": rows, "bytes": size, "behind": facts["behind"], "state": file.state}
    return {**told, **found.counts}


def read_cells(job: RunningJob) -> JobResult:
    """Write the tables of pages. A place is the id of the last page whose tables are in a slice.
    Raises ArchiveTrouble or JobGone.
    """
    counts = {"done": 0, "pages": 0, "tables": 0, "rows": 0, "unreadable": 0}
    try:
        file, turn = JobFile(CELLS, job, CELL_COLUMNS), _continue_check(job)
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
        size = writer.finish(parquet_metadata(job.run, CELLS))
    except (OSError, duckdb.OutOfMemoryException) as error:
        raise ArchiveTrouble(f"The file cannot be written: {error}.") from error
    told = ("pages", "tables", "rows", "unreadable")
    return {**{name: counts[name] for name in told}, "bytes": size, "state": file.state}
