"""Tables that a background job makes from a run, each as a Parquet file. Pages, endpoints, commands
and files query them by DuckDB, read only, with limits of memory and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
from django.contrib.auth.models import User

from crawling.base.errors import ArchiveTrouble, NotFound
from crawling.base.storage import pieces_of, storage
from crawling.datasets.parquet import duckdb_connection
from crawling.datasets.parts import MOST_BEHIND
from crawling.datasets.query import rows_within_limit, time_limited
from crawling.jobs.enqueue import jobs_of, open_job
from crawling.jobs.kinds import JobKind, job_kinds, state_of
from crawling.models import BackgroundJob, Page, Run
from serving.downloads import PARQUET, Download, row_file
from serving.listing.row_list import RowList

#: the number of rows that are read at a time for a reader that takes row after row
AT_A_TIME = 10_000


@dataclass(frozen=True)
class JobTables:
    """The tables that a job has made."""

    of: TablesOfRun
    job: BackgroundJob

    @property
    def counts(self) -> dict[str, Any]:
        """The numbers that the job has stored about its tables."""
        return {**self.job.progress, **(self.job.result or {})}

    def file(self, table: str) -> str:
        return self.job.file(f"{table}.parquet")

    def path(self, table: str) -> Path:
        """The file of a table. Raises ArchiveTrouble if it is not on this machine."""
        if storage().size(self.file(table)) is None:
            raise ArchiveTrouble(
                f"The {self.of.kind.label} was computed on {self.job.machine}, and its files "
                "are not on this machine. Compute it again where the dashboard runs, or share the "
                "archive directory."
            )
        return storage().path(self.file(table))

    def ask(
        self,
        query: str,
        values: Mapping[str, Any] | None = None,
    ) -> list[tuple[Any, ...]]:
        """The rows of a query over the tables.

        query: contains no input of users. Their input goes into `values`, to which the query refers
        as $name. Raises LinkSearchTookTooLong, and ArchiveTrouble if the files are on another
        machine.
        """
        with self.connected() as connection, time_limited(connection):
            return connection.execute(query, dict(values or {})).fetchall()

    def each(
        self, query: str, values: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a query as in `ask`, read while they are taken. Raises the errors of `ask`,
        LinkSearchTookTooLong as soon as AT_A_TIME rows take too long.
        """
        with self.connected() as connection:
            yield from rows_within_limit(connection, query, values, at_a_time=AT_A_TIME)

    def table_download(
        self, stem: str, table: str, rows: RowList[Any], kind: str, wanted: Mapping[str, str]
    ) -> Download:
        """A list of the rows of a table as a file. kind: csv, jsonl, or parquet; a parquet file
        always has the whole table. Raises ArchiveTrouble, BadListRequest or LinkSearchTookTooLong.
        """
        self.path(table)
        if kind == "parquet":
            name = self.file(table)
            pieces = pieces_of(storage().open(name))
            return Download(f"{stem}.parquet", PARQUET, pieces, storage().size(name))
        return row_file(stem, kind, rows.each(self.each, wanted), rows.stored)

    @contextmanager
    def connected(self, tables: Sequence[str] | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection with all tables, or with the named ones. Raises ArchiveTrouble."""
        paths = {table: str(self.path(table)) for table in tables or self.of.tables}
        with duckdb_connection(reads=list(paths.values())) as connection:
            for table, path in paths.items():
                # the query consists of constants and a path of ours
                rows = f"SELECT * FROM read_parquet('{path}')"  # noqa: S608
                connection.execute(f"CREATE TEMP VIEW {table} AS {rows}")
            yield connection


@dataclass(frozen=True)
class TablesState:
    """The state of the tables of a run."""

    #: the state of the latest job: none, waiting, working, computed, cancelled or failed
    state: str
    #: the reason why the latest job failed; empty if it did not fail
    trouble: str
    #: the reason why no background job computes the tables, if a job has reported one
    waits: str
    #: the tables that can be shown; None if there are none
    tables: JobTables | None
    #: the number of pages that were fetched since the tables were made; MOST_BEHIND means that many
    #: or more
    newer_pages: int
    #: the latest job
    job: BackgroundJob | None

    @property
    def computed_at(self) -> datetime | None:
        """The time when the shown tables were computed."""
        return self.tables.job.ended_at if self.tables else None

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "working")


@dataclass(frozen=True)
class TablesOfRun:
    """The tables that jobs of one kind make from runs."""

    #: the name of the kind
    name: str
    #: by name
    tables: tuple[str, ...]
    #: the address, after that of the crawl, at which programs request the job
    ask_at: str

    @property
    def kind(self) -> JobKind:
        return job_kinds()[self.name]

    def latest(self, run: Run) -> JobTables | None:
        """The latest tables; None if none can be shown."""
        job = jobs_of(self.kind, run).filter(ended_at__isnull=False, trouble="").first()
        return JobTables(self, job) if job else None

    def wanted(self, run: Run) -> JobTables:
        """The latest tables. Raises NotFound if none can be shown."""
        found = self.latest(run)
        if found is None:
            raise NotFound(
                f"The {self.kind.label} of run {run.number} has not been computed. POST "
                f"/api/v1/crawls/{run.crawl_id}/{self.ask_at}, or press Compute on its page."
            )
        return found

    def state(self, run: Run) -> TablesState:
        job, found = jobs_of(self.kind, run).first(), self.latest(run)
        told = (state_of(job), job.trouble, job.waits) if job else ("none", "", "")
        if found is None:
            return TablesState(*told, None, 0, job)
        newer = Page.objects.filter(run=run, fetched_at__gt=found.job.began_at)
        return TablesState(*told, found, newer[:MOST_BEHIND].count(), job)

    def ask(self, run: Run, *, by: User | None) -> BackgroundJob:
        """Request a background job that makes the tables, unless one is waiting or working. Raises
        RedisError.
        """
        job = open_job(self.kind, run, by=by)
        self.kind.job.enqueue_if_lost(job.pk)
        return job
