"""The background job that stores the state of a run in CHECKPOINT_DIR, at the request of users, and
regularly by the scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Max, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from crawling.base.audit import record_action
from crawling.base.errors import CheckpointTrouble
from crawling.jobs.enqueue import jobs_of, request_job
from crawling.jobs.job_rows import visible_jobs
from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, JobResult
from crawling.jobs.running_job import RunningJob
from crawling.models import BackgroundJob, CrawlJob, Run
from crawling.models.jobs import WORKING_STATES


@dataclass(frozen=True)
class Checkpoint:
    job: BackgroundJob
    #: the moment whose state the checkpoint has; None if the job has failed or is not done
    taken_at: datetime | None = None
    #: the machine that has the directory
    machine: str = ""
    directory: str = ""
    bytes: int = 0
    urls: int = 0

    @classmethod
    def from_job(cls, job: BackgroundJob) -> Checkpoint:
        if job.result is None:
            return cls(job)
        taken_at = datetime.fromisoformat(job.result["taken_at"])
        return cls(job, **{**job.result, "taken_at": taken_at})


def _take_checkpoint(job: RunningJob) -> JobResult:
    # readers of all tables of a run are imported only where they are needed
    from crawling.uses.checkpoints.checkpoint_export import take_checkpoint_of_job

    return take_checkpoint_of_job(job)


def _clear_checkpoint(job: BackgroundJob) -> None:
    from crawling.uses.checkpoints.checkpoint_export import remove_unfinished

    remove_unfinished(job)


CHECKPOINT = JobKind(
    name="checkpoint",
    label="checkpoint",
    done="taken",
    work=_take_checkpoint,
    clear=_clear_checkpoint,
    # a job that lacks memory would fail at each attempt
    attempts=1,
    effects={
        # a run's list of directories is deleted with the run; the directories stay, since they are
        # copies
        JobEvent.DELETED: JobEffect.FORGET,
        # a directory has the run's state at its time, and the list of directories names no page
        JobEvent.WITHDRAWN: JobEffect.KEEP,
        # CHECKPOINT_DIR is not a part of the installation, so the directory may still exist
        JobEvent.RESTORED: JobEffect.KEEP,
        # the job's result has no archive files
        JobEvent.REWRITTEN: JobEffect.KEEP,
    },
)
KINDS = (CHECKPOINT,)


def request_checkpoint(run: Run, *, by: User | None = None) -> BackgroundJob:
    """Request a background job that takes a checkpoint, unless one is waiting or working.

    Raises CheckpointTrouble.
    """
    if settings.CHECKPOINT_DIR is None:
        raise CheckpointTrouble(
            "There is no place for checkpoints yet: set CHECKPOINT_DIR, or use `manage.py "
            "checkpoint export`."
        )
    with transaction.atomic():
        if by and not jobs_of(CHECKPOINT, run).filter(ended_at=None).exists():
            record_action(by, run.crawl, "asked for a checkpoint", {"run": (None, run.number)})
        return request_job(CHECKPOINT, run, by=by)


def request_due_checkpoints() -> None:
    """Request a checkpoint of every active run whose last one is older than CHECKPOINT_MINUTES."""
    if settings.CHECKPOINT_DIR is None:
        return
    late = timezone.now() - timedelta(minutes=settings.CHECKPOINT_MINUTES)
    asked_at = Max("jobs__asked_at", filter=Q(jobs__kind=CHECKPOINT.name))
    runs = Run.objects.filter(state__in=WORKING_STATES).annotate(
        latest=Coalesce(asked_at, F("started_at"))
    )
    for run in runs.filter(Q(latest__lt=late)).select_related("crawl"):
        request_checkpoint(run)


def checkpoints_of(crawl: CrawlJob) -> QuerySet[BackgroundJob]:
    """The jobs of a crawl's checkpoints, the latest first."""
    found = visible_jobs().filter(kind=CHECKPOINT.name, run__crawl=crawl)
    return found.select_related("run", "by", "cancelled_by")


DUTIES = ((request_due_checkpoints, 30.0),)
