"""Checkpoints in CHECKPOINT_DIR: the last few of each run are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings

from crawling.archive.files import this_machine
from crawling.base.errors import CheckpointTrouble
from crawling.jobs.enqueue import jobs_of
from crawling.jobs.kinds import JobKind, JobResult, kind_of
from crawling.jobs.removal import forget
from crawling.jobs.running_job import RunningJob
from crawling.models import BackgroundJob, Run
from crawling.uses.checkpoints.checkpoint_export import forget_unfinished, take_checkpoint


def take(job: RunningJob) -> JobResult:
    """Do the work of the job. Raises CheckpointTrouble, JobGone."""
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
    job.finish(result)  # before older ones go
    _forget_old(kind_of(job.row), job.run)
    return result


def clear(job: BackgroundJob) -> None:
    """Remove what a job has begun; a checkpoint that was taken stays."""
    if job.result is None and job.run is not None and settings.CHECKPOINT_DIR is not None:
        forget_unfinished(folder := _folder_of(job.run, job))
        shutil.rmtree(folder, ignore_errors=True)


def _folder_of(run: Run, job: BackgroundJob) -> Path:
    """Where it is to be. Raises CheckpointTrouble without CHECKPOINT_DIR."""
    if settings.CHECKPOINT_DIR is None:
        raise CheckpointTrouble("There is no place for checkpoints: set CHECKPOINT_DIR.")
    name = f"crawl{run.crawl_id}-run{run.number}-{job.asked_at:%Y%m%dT%H%M%SZ}"
    return settings.CHECKPOINT_DIR / f"{name}-{job.pk}"


def _forget_old(kind: JobKind, run: Run) -> None:
    """Remove all but the last few of a run that are on this machine."""
    here = jobs_of(kind, run).filter(result__machine=this_machine())
    old = list(here[settings.CHECKPOINTS_KEPT :])
    for job in old:
        assert job.result is not None
        shutil.rmtree(Path(job.result["directory"]), ignore_errors=True)
    forget(BackgroundJob.objects.filter(pk__in=[job.pk for job in old]))
