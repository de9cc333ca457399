"""The removal of background jobs and their files, after the deletion or withdrawal of pages that
they have read, or after the loss of the files.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.db.models import Q, QuerySet

from allocation.errors import AllocationError
from crawling.archive.files import this_machine
from crawling.base.errors import ArchiveTrouble, WrongState
from crawling.base.storage import storage
from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, JobScope, job_kinds, kind_of
from crawling.models import BackgroundJob, Run

logger = logging.getLogger(__name__)

#: errors that leave the remains of a job in place for now
LEAVING = (OSError, ArchiveTrouble, AllocationError, WrongState)
CHANGED = "Archive files were rewritten, runs deleted or pages taken down since it was made."


def delete_jobs_after_event(event: JobEvent, runs: Iterable[int] | None = None) -> None:
    """Forget the jobs of those kinds on which the event has the effect FORGET. They are no longer
    shown, and open jobs are not done. `remove_deleted_jobs` removes their files.

    runs: ids; None for all runs.
    """
    numbers = None if runs is None else list(runs)
    for kind in _kinds_with_effect(event, JobEffect.FORGET):
        delete_jobs(
            BackgroundJob.objects.filter(_concerned_jobs(event, kind, numbers), kind=kind.name)
        )


def delete_jobs(jobs: QuerySet[BackgroundJob]) -> None:
    """Forget these jobs, so that their quotations disappear at once."""
    numbers = list(jobs.filter(is_forgotten=False).values_list("pk", flat=True))
    BackgroundJob.objects.filter(pk__in=numbers).update(is_forgotten=True, result=None)


def _concerned_jobs(event: JobEvent, kind: JobKind, runs: list[int] | None) -> Q:
    """The condition on jobs that may have read the pages of these runs that the event changes."""
    if runs is None:
        return Q()
    of_runs, others = Q(run__in=runs), kind.has_read(runs) if kind.has_read else Q()
    if kind.scope is JobScope.RUN or (event is JobEvent.DELETED and not kind.is_of_asker):
        return of_runs | others
    if kind.scope is JobScope.CRAWL:
        return Q(run__crawl__in=Run.all_objects.filter(pk__in=runs).values("crawl")) | others
    return of_runs | others if kind.has_read else Q()


def check_jobs(event: JobEvent, crawl_id: int) -> list[str]:
    """For the kinds with the effect CHECK, remove from this machine the results that may no longer
    be given out. These are results of the crawl, and of its runs that can be restored. The job's
    row says why it has no result.

    To be called once the event is committed. Safe to repeat. Returns the names of files that could
    not be removed.
    """
    left: list[str] = []
    for kind in _kinds_with_effect(event, JobEffect.CHECK):
        whose = Q(run__crawl=crawl_id)
        if kind.has_read:
            runs = Run.all_objects.filter(crawl=crawl_id).values_list("pk", flat=True)
            whose |= kind.has_read(list(runs))
        jobs = BackgroundJob.objects.filter(whose, kind=kind.name, trouble="")
        done = jobs.filter(is_forgotten=False, ended_at__isnull=False).select_related("run__crawl")
        left += [job.name or str(job) for job in done if not _is_valid_or_removed(kind, job)]
    return left


def _kinds_with_effect(event: JobEvent, effect: JobEffect) -> list[JobKind]:
    return [kind for kind in job_kinds().values() if kind.effects[event] is effect]


def _is_valid_or_removed(kind: JobKind, job: BackgroundJob) -> bool:
    """Whether the job's result is valid. If it is not, remove the result from this machine, and
    return whether that succeeded.
    """
    try:
        if (job.name and not _local_job_files(job.name)) or kind.is_valid(job):
            return True  # the result is on another machine, or may be given out
        clear_job_files(kind, job)
    except LEAVING as error:
        facts = {"job": str(job), "error": str(error)}
        logger.warning("the files of a job cannot be removed", extra=facts)
        return False
    BackgroundJob.objects.filter(pk=job.pk).update(result=None, trouble=CHANGED)
    return True


def delete_older_jobs(kind: JobKind, job: BackgroundJob) -> None:
    """Forget the jobs that a newer job of the kind replaces."""
    whose = Q(subject=job.subject) if job.subject else None
    if job.run is not None:
        whose = Q(run__crawl=job.run.crawl_id) if kind.is_of_crawl else Q(run=job.run)
    if whose is not None:
        delete_jobs(BackgroundJob.objects.filter(whose, kind=kind.name, pk__lt=job.pk))


def adopt_jobs() -> None:
    """Note that this machine has the files of all jobs."""
    BackgroundJob.objects.exclude(name="").update(machine=this_machine())


def remove_deleted_jobs() -> list[str]:
    """Remove the files of forgotten jobs that are on this machine, then their rows. Return the
    names of files that could not be removed. Safe to repeat.
    """
    left: list[str] = []
    forgotten = BackgroundJob.objects.filter(is_forgotten=True, kind__in=job_kinds())
    bare = [kind.name for kind in job_kinds().values() if not (kind.has_files or kind.clear)]
    forgotten.filter(kind__in=bare).delete()
    for job in forgotten:
        try:
            if job.name and job.machine != this_machine() and not _local_job_files(job.name):
                continue  # the files are on another machine
            clear_job_files(kind_of(job), job)
        except LEAVING as error:  # the row stays, so the removal is tried again
            facts = {"job": str(job), "error": str(error)}
            logger.warning("the files of a job cannot be removed", extra=facts)
            left.append(job.name or str(job))
        else:
            job.delete()
    return left


def clear_job_files(kind: JobKind, job: BackgroundJob) -> None:
    """Remove the files of a job, and their folder if it becomes empty. Safe to repeat. Raises the
    errors in LEAVING.
    """
    if kind.clear:
        kind.clear(job)
    if not job.name:
        return
    for file in _local_job_files(job.name):
        storage().delete(file)
    folder = job.name.partition("/")[0]
    others = BackgroundJob.objects.filter(kind=kind.name, name__startswith=f"{folder}/")
    if not others.exclude(name=job.name).exists():
        storage().delete_folder(folder)  # with files that a killed job left there


def _local_job_files(name: str) -> list[str]:
    """The files of a job that are on this machine, including unfinished files of a killed job."""
    folder, _, own = name.partition("/")
    return [
        f"{folder}/{file}"
        for file in storage().names_with_unfinished(folder)
        if file.startswith(f"{own}.")
    ]
