"""The rows of background jobs: requested, found, ended and forgotten.

Each job has new names for its files on each machine. So no file is read that is no longer wanted,
or that another machine makes anew.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now

from crawling.models import BackgroundJob


def visible_jobs() -> QuerySet[BackgroundJob]:
    """The jobs that are not marked as deleted, without jobs of deleted runs."""
    return BackgroundJob.objects.filter(is_forgotten=False, run__removal_asked_at=None)


def open_jobs() -> QuerySet[BackgroundJob]:
    return visible_jobs().filter(ended_at=None)


def lockable_row(job: BackgroundJob) -> QuerySet[BackgroundJob]:
    """The job's row, as long as this machine is to do the job. The query joins no other table, so
    an update that had to wait for the row's lock checks the columns again.
    """
    return BackgroundJob.objects.filter(pk=job.pk, name=job.name, ended_at=None, is_forgotten=False)


def end_job(
    job: BackgroundJob,
    result: Mapping[str, Any] | None = None,
    *,
    trouble: str = "",
    **columns: Any,
) -> bool:
    """Store the result, or the reason why there is none. Return whether the job was still
    wanted.
    """
    ends = {"ended_at": Now(), "trouble": trouble.replace("\0", ""), "waits": ""}
    return bool(lockable_row(job).update(result=result, **ends, **columns))


def job_file_prefix(kind: str, number: int) -> str:
    """The prefix of the names of a job's files. It is never used again."""
    return f"{kind}{number}/{uuid.uuid4().hex}"
