"""Writes a run's state at one moment to a directory, while the run continues. Keeps the last few
checkpoints of each run in CHECKPOINT_DIR.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from crawling.archive.adoption import FILES
from crawling.archive.checkpoint_directory import SNAPSHOT, CheckpointManifest, CheckpointWriter
from crawling.archive.files import this_machine
from crawling.archive.reader import check_not_withdrawn
from crawling.base.errors import ArchiveTrouble, CheckpointTrouble
from crawling.frontier import counts_of
from crawling.frontier.change.checkpoint_rows import OWN, SHARED
from crawling.jobs.enqueue import jobs_of
from crawling.jobs.kinds import JobKind, JobResult, kind_of
from crawling.jobs.removal import delete_jobs
from crawling.jobs.running_job import RunningJob
from crawling.models import ArchiveFile, BackgroundJob, Run
from crawling.runs.crawls.creation import order_of


@dataclass(frozen=True)
class CheckpointResult:
    folder: Path
    at: datetime
    bytes: int
    urls: int
    #: the archive files that are on other machines, so that the checkpoint only refers to them
    missing: list[str]


def take_checkpoint(run: Run, folder: Path, *, with_archive: bool) -> CheckpointResult:
    """Write the run to a new directory, which appears as a whole or not at all.

    Raises CheckpointTrouble.

    All rows are read in one snapshot of the database. Archive files only grow, so they are copied
    afterwards, up to their committed lengths in that snapshot.
    """
    folder = folder.expanduser().resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CheckpointTrouble(
            f"{folder} is there already; name a directory that is new or empty."
        )
    unfinished = folder.with_name(f"{_temporary_prefix(folder)}{os.getpid()}")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        taken = _write_checkpoint(run, unfinished, with_archive=with_archive)
        unfinished.rename(folder)
    except OSError as error:
        raise CheckpointTrouble(f"{folder} cannot be written: {error.strerror}.") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return CheckpointResult(folder, *taken)


def delete_unfinished(folder: Path) -> None:
    """Remove the unfinished checkpoints that killed processes have left at this place."""
    for left in folder.parent.glob(f"{_temporary_prefix(folder)}*"):
        shutil.rmtree(left, ignore_errors=True)


def _temporary_prefix(folder: Path) -> str:
    return f".{folder.name}."


def _write_checkpoint(
    run: Run, folder: Path, *, with_archive: bool
) -> tuple[datetime, int, int, list[str]]:
    writer = CheckpointWriter(folder)
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute(SNAPSHOT)
            cursor.execute("SELECT transaction_timestamp()")
            at: datetime = cursor.fetchone()[0]
        run = Run.objects.select_related("crawl").get(pk=run.pk)
        parts = {
            part.name: _write_part(writer, run, part.name, part.query, part.model)
            for part in (*SHARED, *OWN)
        }
        parts["archive"] = _write_part(writer, run, "archive", FILES, ArchiveFile)
        counts, files = (
            asdict(counts_of([run.pk])[run.pk]),
            list(ArchiveFile.objects.filter(run=run, committed_length__gt=0)),
        )
    here = [row for row in files if row.is_here] if with_archive else []
    if len(here) == len(files):
        try:
            check_not_withdrawn(here)
        except ArchiveTrouble as trouble:
            raise CheckpointTrouble(str(trouble)) from trouble
        for row in here:
            writer.copy_archive(row)
    missing = [] if len(here) == len(files) else [row.name for row in files]
    names = [] if missing else [row.name for row in here]
    size = writer.finish(
        CheckpointManifest(
            order_of(run.crawl), _run_facts(run), at.isoformat(), counts, parts, names
        ).as_text()
    )
    return at, size, parts["urls"]["rows"], missing


def _write_part(
    writer: CheckpointWriter, run: Run, name: str, query: str, model: Any
) -> dict[str, Any]:
    rows = writer.write_lines(name, _lines_of_query(query, run.pk))
    return {"rows": rows, "columns": [column.column for column in model._meta.concrete_fields]}


def _lines_of_query(query: str, run_id: int) -> Iterator[str]:
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({query}) TO STDOUT", {"run": run_id}) as copy,
    ):
        for (line,) in copy.rows():
            yield line


def _run_facts(run: Run) -> dict[str, Any]:
    times = {name: getattr(run, name) for name in ("started_at", "finished_at")}
    return {
        "number": run.number,
        "state": run.state,
        "reason": run.reason,
        **{name: moment.isoformat() if moment else None for name, moment in times.items()},
    }


def take_checkpoint_of_job(job: RunningJob) -> JobResult:
    """Do the work of the job. Raises CheckpointTrouble or JobGone."""
    folder = _folder_of(job.run, job.row)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        taken = take_checkpoint(job.run, folder, with_archive=False)
    except OSError as error:
        raise CheckpointTrouble(str(error)) from error
    result = {
        "taken_at": taken.at.isoformat(),
        "machine": this_machine(),
        "directory": str(taken.folder),
        "bytes": taken.bytes,
        "urls": taken.urls,
    }
    job.finish(result)
    _delete_old_checkpoints(kind_of(job.row), job.run)
    return result


def remove_unfinished(job: BackgroundJob) -> None:
    """Remove an unfinished directory of the job. A complete checkpoint stays."""
    if job.result is None and job.run is not None and settings.CHECKPOINT_DIR is not None:
        delete_unfinished(folder := _folder_of(job.run, job))
        shutil.rmtree(folder, ignore_errors=True)


def _folder_of(run: Run, job: BackgroundJob) -> Path:
    """The directory of a checkpoint. Raises CheckpointTrouble without CHECKPOINT_DIR."""
    if settings.CHECKPOINT_DIR is None:
        raise CheckpointTrouble("There is no place for checkpoints: set CHECKPOINT_DIR.")
    name = f"crawl{run.crawl_id}-run{run.number}-{job.asked_at:%Y%m%dT%H%M%SZ}"
    return settings.CHECKPOINT_DIR / f"{name}-{job.pk}"


def _delete_old_checkpoints(kind: JobKind, run: Run) -> None:
    """Remove all but the last few checkpoints of a run on this machine."""
    here = jobs_of(kind, run).filter(result__machine=this_machine())
    old = list(here[settings.CHECKPOINTS_KEPT :])
    for job in old:
        assert job.result is not None
        shutil.rmtree(Path(job.result["directory"]), ignore_errors=True)
    delete_jobs(BackgroundJob.objects.filter(pk__in=[job.pk for job in old]))
