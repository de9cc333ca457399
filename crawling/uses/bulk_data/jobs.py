"""The background jobs that make Parquet files with all data of one kind of a run."""

from __future__ import annotations

from functools import partial

from crawling.jobs.kinds import OF_TABLES, JobKind, JobResult
from crawling.jobs.running_job import RunningJob
from crawling.uses.bulk_data.bulk_table import BulkTable
from crawling.uses.bulk_data.tables import CELLS, TABLES

#: enough for the tree of one document, or for some pages, and a slice of rows
MEMORY_MIB = 128
#: enough for DuckDB and a slice of rows
MEMORY_OF_PARTS_MIB = 256


def _make_file(table: BulkTable, job: RunningJob) -> JobResult:
    # readers of documents are imported only where they are needed
    from crawling.uses.bulk_data.table_job import make_rows, read_cells

    return read_cells(job) if table is CELLS else make_rows(table, job)


def _job_kind(table: BulkTable) -> JobKind:
    return JobKind(
        name=table.job_name,
        label=f"file of {table.label.lower()}",
        done="made",
        work=partial(_make_file, table),
        memory=lambda job: MEMORY_OF_PARTS_MIB if table.is_by_parts else MEMORY_MIB,
        effects=OF_TABLES,
        seconds=6 * 60 * 60,
        has_files=True,
        keeps_latest_only=True,
    )


KINDS = tuple(map(_job_kind, TABLES))
