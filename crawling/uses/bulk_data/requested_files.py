"""The files that a user has requested together: which of them are there, which load automatically,
and the outcome of each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from django.http import HttpRequest

from crawling.models import BackgroundJob, Run
from crawling.uses.bulk_data.bulk_table import BulkTable
from crawling.uses.bulk_data.offers import BulkData
from crawling.uses.bulk_data.tables import BY_NAME
from serving.download_outcomes import PREFIX, DownloadOutcome, outcome_of
from serving.downloads import ENDINGS


class BulkFile(NamedTuple):
    table: BulkTable
    ending: str

    @property
    def name(self) -> str:
        return f"{self.table.name}.{self.ending}"

    def outcome_name(self, run: Run) -> str:
        """The name under which the page stores the outcome of the download."""
        return f"{run.number}-{self.name}"


class RequestedFile(NamedTuple):
    """A file that a user waits for."""

    file: BulkFile
    offer: BulkData
    #: the ids of the jobs that were requested with the files
    jobs: Collection[str]
    #: a DownloadOutcome, or "" if there is none yet
    outcome: str

    @property
    def changing(self) -> BackgroundJob | None:
        """The open job that changes the rows, and for whose end the file waits."""
        job = self.offer.changed_by
        return job if job and job.is_open and str(job.pk) in self.jobs else None

    @property
    def trouble(self) -> str:
        """The reason why the rows are not as they were ordered."""
        job = self.offer.changed_by
        if job is None or str(job.pk) not in self.jobs:
            return ""
        return "Cancelled." if job.cancelled_at else job.trouble

    @property
    def is_coming(self) -> bool:
        job = self.offer.job
        is_made = job is not None and job.is_open and self.offer.comes_from_job(self.file.ending)
        return is_made or self.changing is not None

    @property
    def is_there(self) -> bool:
        return self.offer.is_ready(self.file.ending) and not self.is_coming

    @property
    def is_older(self) -> bool:
        """Whether the file has older data than the run."""
        return self.offer.is_outdated and self.offer.comes_from_job(self.file.ending)

    @property
    def loads_automatically(self) -> bool:
        """Whether the file loads automatically: it has the present data, or a job of this request
        has made it.
        """
        made = self.offer.made
        is_ordered = made is not None and str(made.job.pk) in self.jobs
        return self.is_there and not self.trouble and (is_ordered or not self.is_older)

    @property
    def is_due(self) -> bool:
        """Whether the file must still be loaded."""
        over = (DownloadOutcome.SENT, DownloadOutcome.FAILED)
        return self.loads_automatically and self.outcome not in over

    @property
    def cookie(self) -> str:
        return PREFIX + self.file.outcome_name(self.offer.run)

    @property
    def size(self) -> int | None:
        """The size in bytes; an estimate for CSV; None if it is unknown."""
        if self.file.ending == "parquet":
            return self.offer.made.counts["bytes"] if self.offer.made else None
        return self.offer.bytes if self.file.ending == "csv" else None


def files_named(names: Iterable[str]) -> list[BulkFile] | None:
    """The files with these names, each once. None if one of the names is not that of a file of a
    run.
    """
    files = list[BulkFile]()
    for name in dict.fromkeys(names):
        stem, _, ending = name.partition(".")
        table = BY_NAME.get(stem)
        if table is None or ending not in (*ENDINGS, *table.other_endings):
            return None
        files.append(BulkFile(table, ending))
    return files


def requested_files(
    request: HttpRequest, run: Run, offers: Iterable[BulkData]
) -> list[RequestedFile]:
    """The files in `?then=`, for which a page waits. The jobs in `?jobs=` make them."""
    by_name = {one.table.name: one for one in offers}
    jobs = request.GET.get("jobs", "").split(",")
    return [
        RequestedFile(
            file,
            by_name[file.table.name],
            jobs,
            outcome_of(request, file.outcome_name(run)),
        )
        for file in files_named(request.GET.get("then", "").split(",")) or ()
    ]
