"""The data of a run as files, with the number of rows, the approximate size, and whether a file is
made.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Count, Max, Sum

from crawling.base.errors import NotFound
from crawling.datasets.extracted_fields import field_rules, pages_with_older_fields
from crawling.datasets.job_tables import JobTables
from crawling.datasets.lag import EXTRACTED
from crawling.datasets.parts import count_pages_behind
from crawling.jobs.enqueue import jobs_of, open_job, request_job
from crawling.jobs.kinds import state_of
from crawling.models import BackgroundJob, LinksPart, Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.uses.bulk_data.bulk_table import START, BulkTable, Cells, csv_size_of
from crawling.uses.bulk_data.tables import TABLES
from serving.downloads import ENDINGS

#: the words for the suffixes of files
WORDS = ENDINGS | {"zip": "ZIP"}
#: the number of rows from which the size of a file is estimated
SAMPLED = 200
#: the seconds for which an estimate is kept
GUESSED_SECONDS = 600


@dataclass(frozen=True)
class BulkData:
    """All data of a kind that a run has."""

    run: Run
    table: BulkTable
    #: the number of rows; None until a job has made the file
    rows: int | None
    #: the size of a CSV file, estimated from some rows; None if unknown
    bytes: int | None
    #: the number of pages that are not in the data yet; MOST_BEHIND means that many or more
    behind: int
    #: whether text files, too, are made from the Parquet file
    needs_job: bool
    #: the latest job
    job: BackgroundJob | None
    #: the Parquet file; that of an active run has the data of the time when it was made
    made: JobTables | None
    #: whether the data have changed since the file was made
    is_outdated: bool
    #: the latest job that changes, or has changed, the rows of all pages
    changed_by: BackgroundJob | None

    @property
    def is_complete(self) -> bool:
        return not self.behind and self.run.state in ENDED_STATES

    @property
    def state(self) -> str:
        """The state of the latest job: none, waiting, working, made, cancelled or failed."""
        return state_of(self.job) if self.job else "none"

    @property
    def files(self) -> list[tuple[str, str, bool]]:
        """The files, each as its suffix, the words of its link, and whether it can be sent at
        once.
        """
        endings = (*ENDINGS, *self.table.other_endings)
        return [(ending, WORDS[ending], self.is_ready(ending)) for ending in endings]

    @property
    def has_rules(self) -> bool:
        """Whether anything was to be extracted from the run's pages."""
        return bool(field_rules(self.run).rules)

    def comes_from_job(self, ending: str) -> bool:
        return self.needs_job or ending == "parquet"

    def is_ready(self, ending: str) -> bool:
        """Whether the file can be sent at once."""
        return self.made is not None or not self.comes_from_job(ending)

    def has_to_be_made(self, ending: str) -> bool:
        """Whether a job must make the file before it can be sent with the present data."""
        return self.comes_from_job(ending) and (self.made is None or self.is_outdated)

    @property
    def failed(self) -> dict[str, int]:
        """For each field, the number of values that could not be converted."""
        counts = self.made.counts if self.made else {}
        named = ((name.partition("."), count) for name, count in counts.items())
        return {name: count for (kind, _, name), count in named if kind == "failed" and count}

    @property
    def unreadable(self) -> int:
        return self.made.counts.get("unreadable", 0) if self.made else 0


def offers_of(run: Run) -> list[BulkData]:
    return [offer_of(run, table) for table in TABLES]


def offer_of(run: Run, table: BulkTable) -> BulkData:
    made, needs_job = _usable_file(run, table), table.needs_job(run)
    rows = made.counts["rows"] if made else None if needs_job else table.count(run)
    return BulkData(
        run,
        table,
        rows,
        None if needs_job else _estimated_bytes(table, run, rows or 0),
        count_missing_pages(run, table),
        needs_job,
        jobs_of(table.made.kind, run).first(),
        made,
        made is not None and not _is_current(made),
        table.changed_by(run),
    )


def count_missing_pages(run: Run, table: BulkTable) -> int:
    """The number of pages of the run that are not in the data yet; MOST_BEHIND means that many or
    more.
    """
    if table.step == EXTRACTED:
        return pages_with_older_fields(run)[0]
    return count_pages_behind(run, table.step) if table.step else 0


def parquet_metadata(run: Run, table: BulkTable) -> dict[str, object]:
    """The metadata of a Parquet file that is made now."""
    behind = count_missing_pages(run, table)
    is_over = run.state in ENDED_STATES
    return {"complete": str(is_over and not behind).lower(), "behind": behind, "run": run.number}


def _estimated_bytes(table: BulkTable, run: Run, rows: int) -> int:
    key = f"bytes-of-{table.name}-{run.pk}"
    mean: float | None = cache.get(key)
    if mean is None:
        sizes = table.sizes(run) if table.sizes else _sample_sizes(table, run)
        mean = sum(sizes) / len(sizes) if sizes else 0.0
        cache.set(key, mean, GUESSED_SECONDS)
    return round(mean * rows)


def _sample_sizes(table: BulkTable, run: Run) -> list[int]:
    with closing(_sample_rows(table.rows(run, START).rows)) as some:
        return [csv_size_of(row) for row in some]


def _sample_rows(rows: Iterator[Cells]) -> Generator[Cells]:
    """The first rows. Closing this generator closes their source."""
    yield from islice(rows, SAMPLED)


def state_of_data(run: Run, table: BulkTable) -> str:
    """A text that changes whenever the rows may have changed."""
    pages = Page.objects.filter(run=run).aggregate(Max("fetched_at"))["fetched_at__max"]
    parts = LinksPart.objects.filter(run=run).aggregate(
        Count("pk"), Max("written_at"), Max("read_at"), Sum("bytes")
    )
    told = {"pages": pages, **(parts if table.is_by_parts else {}), "beside": table.depends_on(run)}
    return json.dumps(told, default=datetime.isoformat, sort_keys=True)


def _usable_file(run: Run, table: BulkTable) -> JobTables | None:
    """The latest file. None if the run has ended and its data are newer than the file."""
    made = table.made.latest(run)
    return made if made and (run.state not in ENDED_STATES or _is_current(made)) else None


def _is_current(made: JobTables) -> bool:
    job = made.job
    table = next(one for one in TABLES if one.job_name == job.kind)
    return job.run is not None and made.counts.get("state") == state_of_data(job.run, table)


def usable_tables(run: Run, table: BulkTable) -> JobTables:
    """Raises NotFound."""
    found = _usable_file(run, table)
    if found is None:
        raise NotFound(
            f"The file of {table.label.lower()} of run {run.number} has not been made. POST "
            f"/api/v1/crawls/{run.crawl_id}/{table.made.ask_at}, or press its button."
        )
    return found


def request_file(run: Run, table: BulkTable, *, by: User | None) -> BackgroundJob:
    """Request a background job that makes the Parquet file, unless such a job is waiting or
    working.
    """
    return request_job(table.made.kind, run, by=by)


def open_file(run: Run, table: BulkTable) -> BackgroundJob:
    """Open the job of a file for a command that makes the file itself."""
    return open_job(table.made.kind, run, by=None)
