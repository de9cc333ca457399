"""The background job that removes the records of withdrawn pages from the files."""

from __future__ import annotations

from collections.abc import Iterator

from crawling.jobs.due_jobs import request_due_job
from crawling.jobs.kinds import KEPT_DAY, OF_ROWS, DueJob, JobKind, JobResult, JobScope
from crawling.jobs.running_job import JobWaits, RunningJob
from crawling.models import Withdrawal

#: the most attempts, so many that the records are removed however often a job is killed; each job
#: continues with the remaining files
ALWAYS = 10_000
OTHER = "another job removes records"


def _remove_records(job: RunningJob) -> JobResult:
    # removal imports the search index, and `withdrawing` imports this module
    from crawling.uses.withdrawals.file_removal import due_withdrawals, remove_records

    number = job.row.spec["withdrawal"]
    remove_records(number)
    if number in due_withdrawals():
        raise JobWaits(Withdrawal.objects.get(pk=number).trouble or OTHER)
    return {}


def _due_jobs() -> Iterator[DueJob]:
    from crawling.uses.withdrawals.file_removal import due_withdrawals

    for withdrawal in due_withdrawals():
        yield _job_of(withdrawal)


def _job_of(withdrawal: int) -> DueJob:
    return DueJob(f"withdrawal {withdrawal}", spec={"withdrawal": withdrawal})


def request_removal_of(withdrawal: Withdrawal) -> None:
    """Request a job that removes the withdrawal's records, if they are due."""
    request_due_job(WITHDRAWAL, _job_of(withdrawal.pk))


WITHDRAWAL = JobKind(
    name="withdrawal",
    label="removal of records that were taken down",
    done="removed",
    work=_remove_records,
    effects=OF_ROWS,
    seconds=6 * 60 * 60,
    scope=JobScope.INSTALLATION,
    attempts=ALWAYS,
    due=_due_jobs,
    kept=KEPT_DAY,
)
KINDS = (WITHDRAWAL,)
