"""The background job that creates a crawl with one run from files in IMPORT_DIR. Each attempt
starts from the beginning: the files are imported completely or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, JobResult, JobScope, state_of
from crawling.jobs.rq_jobs import IMPORTS
from crawling.jobs.running_job import RunningJob
from crawling.machine.work_folders import remove_abandoned_folders
from crawling.models import BackgroundJob


@dataclass(frozen=True)
class ArchiveImport:
    job: BackgroundJob
    #: waiting, reading, storing, imported, cancelled or failed
    state: str
    #: the names of its files
    files: list[str]
    #: the name of the crawl
    name: str
    #: the total size of its files
    bytes: int
    #: the bytes that the latest job has read
    read_bytes: int = 0
    #: the number of answers in these bytes
    answers: int = 0
    #: the number of pages of the run
    pages: int = 0
    #: the number of records that are not in the run, by reason
    left_out: dict[str, int] = field(default_factory=dict)
    #: the number of records with a fault, by fault
    remarks: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_job(cls, job: BackgroundJob) -> ArchiveImport:
        spec, read = job.spec, job.progress.get("done", 0)
        files, name, of = spec["files"], spec["name"], spec["bytes"]
        state = state_of(job)
        if state == "working":
            state = "storing" if of and read >= of else "reading"
        answers, made = job.progress.get("answers", 0), job.result or {}
        return cls(job, state, files, name, of, read, answers, **made)


def requested_imports() -> QuerySet[BackgroundJob]:
    """The imports, the latest first, including those whose run is deleted."""
    found = BackgroundJob.objects.filter(kind=IMPORT.name)
    return found.select_related("by", "cancelled_by", "run__crawl")


def _import_archive(job: RunningJob) -> JobResult:
    # the modules for checkpoints are imported only where they are needed
    from crawling.uses.imports.importing import ImportResult, import_files

    remove_abandoned_folders()
    spec, made = job.row.spec, dict[str, Any]()
    job.note(done=0, of=spec["bytes"], answers=0)

    def note(read: int, answers: int) -> None:
        job.note(done=read, answers=answers)

    def confirm(result: ImportResult) -> None:
        made.update(pages=result.pages, left_out=result.left_out, remarks=result.remarks)
        job.finish(made, run=result.run)

    import_files(
        [Path(settings.IMPORT_DIR) / file for file in spec["files"]],
        name=spec["name"],
        namespace=UUID(spec["namespace"]),
        by=job.row.by,
        note=note,
        confirm=confirm,
    )
    return made


IMPORT = JobKind(
    name="import",
    label="import",
    done="imported",
    work=_import_archive,
    # the job has only names of files, and counts; its run is deleted separately
    effects={
        JobEvent.DELETED: JobEffect.KEEP,
        JobEvent.WITHDRAWN: JobEffect.KEEP,
        JobEvent.RESTORED: JobEffect.KEEP,
        JobEvent.REWRITTEN: JobEffect.KEEP,
    },
    seconds=6 * 60 * 60,
    queue=IMPORTS,
    scope=JobScope.INSTALLATION,
    clear=lambda job: remove_abandoned_folders(),
)
KINDS = (IMPORT,)
