"""The exports of a run: how they are requested, their results and their states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet

from crawling.archive.selection import local_files
from crawling.jobs.enqueue import jobs_of, open_job, request_job
from crawling.jobs.job_rows import visible_jobs
from crawling.jobs.kinds import JobKind
from crawling.jobs.removal import CHANGED
from crawling.models import ArchiveFile, BackgroundJob, Run
from crawling.uses.exports.run_export import RunExport

ENDINGS = {"wacz": ".wacz", "mirror": "-mirror.zip", "latest-mirror": "-latest-mirror.zip"}


def request_export(run: Run, kind: JobKind, *, by: User | None = None) -> BackgroundJob:
    """Request a background job that makes an export of a run, unless one is waiting or working.

    Raises ArchiveTrouble, also if nothing of the run is archived.
    """
    _check_archived(run, kind)
    return request_job(kind, run, by=by)


def open_export(run: Run, kind: JobKind) -> BackgroundJob:
    """Open the job of an export for a command that makes the export itself."""
    _check_archived(run, kind)
    return open_job(kind, run, by=None)


def _check_archived(run: Run, kind: JobKind) -> None:
    for one in exported_runs(run, kind):
        local_files(one)


def exported_runs(run: Run, kind: JobKind) -> list[Run]:
    """The runs whose pages an export has, the latest first: the run itself or, for an export of a
    crawl, all its runs with archived pages.
    """
    return archived_runs(run) if kind.is_of_crawl else [run]


def archived_runs(latest: Run) -> list[Run]:
    """All runs of its crawl that have archived pages, the latest first."""
    runs = Run.objects.filter(crawl=latest.crawl_id, removal_asked_at=None)
    archived = ArchiveFile.objects.filter(run=OuterRef("pk"), committed_length__gt=0)
    found = runs.filter(Exists(archived)).select_related("crawl").order_by("-number")
    return list(found) or [latest]


def readable_export(run: Run, kind: JobKind) -> RunExport | None:
    """The latest export that can be given out; None if there is none."""
    return next((one for one in _made_exports(jobs_of(kind, run)) if one.is_readable), None)


def made_export(kind: JobKind, job: int) -> RunExport | None:
    """The export that this job has made. None if the job has made none, or if the export's run is
    deleted.
    """
    return next(_made_exports(visible_jobs().filter(kind=kind.name, pk=job)), None)


def _made_exports(jobs: QuerySet[BackgroundJob]) -> Iterator[RunExport]:
    """The exports that these jobs have made, the latest first."""
    done = jobs.filter(trouble="").exclude(ended_at=None).order_by("-pk")
    return map(RunExport.of, done.select_related("run__crawl"))


@dataclass(frozen=True)
class ExportState:
    """The state of an export of one run, or of all runs of a crawl."""

    run: Run
    kind: JobKind
    #: the file, if one can be given out
    file: RunExport | None
    #: whether the run has archived more since the file was requested
    is_outdated: bool
    #: the job that is making a file
    under_way: BackgroundJob | None
    #: the reason why the last file is missing
    trouble: str
    #: the last job, if a user has cancelled it
    cancelled: BackgroundJob | None = None

    @property
    def name(self) -> str:
        of_run = "" if self.kind.is_of_crawl else f"-run-{self.run.number}"
        return f"crawl-{self.run.crawl_id}{of_run}{ENDINGS[self.kind.name]}"

    @property
    def is_current(self) -> bool:
        """Whether the file is there, has everything that is archived, and is not being made
        again.
        """
        return self.file is not None and not self.is_outdated and self.under_way is None

    def is_wanted(self, job: str) -> bool:
        """Whether the file is the requested one: an up-to-date file, or the file that this job has
        made.
        """
        is_ordered = self.file is not None and str(self.file.id) == job and not self.under_way
        return is_ordered or self.is_current

    @property
    def missing(self) -> int:
        """The number of the run's documents that are not in the file."""
        return self.file.layout.missing if self.file else 0


def state_of(run: Run, kind: JobKind) -> ExportState:
    file, latest = readable_export(run, kind), jobs_of(kind, run).first()
    under_way = latest if latest and latest.is_open else None
    trouble = latest.trouble if latest else ""
    if latest and not (under_way or trouble or file):
        trouble = CHANGED
    cancelled = latest if latest and latest.cancelled_at else None
    is_old = bool(file and file.is_outdated(exported_runs(run, kind)))
    return ExportState(run, kind, file, is_old, under_way, trouble, cancelled)
