"""Background jobs as a list with filters, and with the actions that a user may take on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone

from crawling.dashboard.base.job_answers import cancelled_facts
from crawling.installation.permissions import STEER, crawls_acted_on, is_administrator, may_end
from crawling.jobs.job_rows import visible_jobs
from crawling.jobs.kinds import job_kinds, kind_of
from crawling.models import BackgroundJob

BEGUN = Q(began_at__isnull=False, waits="")
ENDED_WELL = Q(trouble="", cancelled_at=None)
#: the condition on rows for each state of `BackgroundJob.state`
STATES: Mapping[str, Q] = {
    "waiting": Q(ended_at=None) & ~BEGUN,
    "working": Q(ended_at=None) & BEGUN,
    "done": Q(ended_at__isnull=False) & ENDED_WELL,
    "failed": Q(ended_at__isnull=False, cancelled_at=None) & ~Q(trouble=""),
    "cancelled": Q(cancelled_at__isnull=False),
}
#: longer than the ten seconds between two reports of a worker that it works on a job
SILENT = timedelta(seconds=60)


@dataclass(frozen=True)
class JobRow:
    job: BackgroundJob
    label: str
    may_act: bool

    @property
    def may_run_again(self) -> bool:
        is_over = self.job.state in ("failed", "cancelled")
        return self.may_act and is_over and kind_of(self.job).is_run_again

    @property
    def trouble(self) -> str:
        """The job's error. The error of an inquiry is shown only to users who may cancel it."""
        hides = kind_of(self.job).is_of_asker and not self.may_act
        return "" if hides else self.job.trouble

    @property
    def may_cancel(self) -> bool:
        return self.may_act and self.job.is_open

    @property
    def silent_since(self) -> timedelta | None:
        """The time since the job's worker last reported; None if it has reported recently."""
        heard = self.job.heartbeat_at
        silence = timezone.now() - heard if heard and self.job.state == "working" else SILENT
        return silence if silence > SILENT else None


def listed_jobs(
    *, kind: str = "", state: str = "", crawl: int | None = None
) -> QuerySet[BackgroundJob]:
    """The jobs of a kind, in a state, of a crawl, the latest first. "" and None mean all.

    Without kind and state, jobs that are kept only for a while are left out: jobs that the
    scheduler requests repeatedly, and inquiries of pages.
    """
    kinds = [one.name for one in job_kinds().values() if state or one.kept is None]
    found = visible_jobs().filter(kind__in=[kind] if kind else kinds)
    found = found.filter(STATES[state]) if state else found
    found = found if crawl is None else found.filter(run__crawl=crawl)
    return found.select_related("run__crawl", "by", "cancelled_by").order_by("-pk")


def rows_for(user: User | None, jobs: Sequence[BackgroundJob]) -> list[JobRow]:
    """The jobs with the actions of the user. user: None for the command line. Takes at most one
    query.
    """
    crawls = crawls_acted_on(user, {job.run.crawl_id for job in jobs if job.run})
    steers = user is None or user.has_perm(STEER)

    kinds = job_kinds()

    def may_act(job: BackgroundJob) -> bool:
        if job.run is None and kinds[job.kind].is_upkeep:
            return is_administrator(user)
        if job.run is None or kinds[job.kind].is_of_asker:
            return may_end(user, job.by)
        return job.run.crawl_id in crawls

    return [JobRow(job, kinds[job.kind].label, steers and may_act(job)) for job in jobs]


COPIED = (
    *("kind", "state", "percent", "progress", "waits", "attempts"),
    *("asked_at", "began_at", "heartbeat_at", "ended_at"),
)


def job_facts(row: JobRow) -> dict[str, Any]:
    job = row.job
    return {
        "id": job.pk,
        "crawl": job.run.crawl_id if job.run else None,
        "run": job.run.number if job.run else None,
        "seconds_left": job.seconds_left,
        "trouble": row.trouble,
        "by": job.by.username if job.by else "",
        **{name: getattr(job, name) for name in COPIED},
        **cancelled_facts(job),
    }
