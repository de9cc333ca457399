"""The background job that writes the links of a run, as far as shifts have collected them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import count

from django.utils import timezone

from crawling.datasets.parts import collected_parts, lost_parts
from crawling.jobs.kinds import KEPT_HOUR, OF_ROWS, DueJob, JobKind, JobResult
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.running_job import RunningJob

LATE = timedelta(seconds=30)


def _work(job: RunningJob) -> JobResult:
    # what reads documents is imported by those who need it
    from crawling.datasets.catch_up import catch_up

    parts = count(1)
    catch_up(job.run.pk, note=lambda pages: job.bookmark(next(parts)))
    return {}


def _due() -> Iterator[DueJob]:
    """Runs of which shifts have collected parts, or left them behind."""
    collected = set(collected_parts().values_list("run", flat=True))
    # a shift that has just ended may be about to say that its part is collected
    lost = lost_parts().filter(opened_at__lt=timezone.now() - LATE)
    for run in sorted(collected | set(lost.values_list("run", flat=True))):
        yield DueJob(f"run {run}", run)


LINKS = JobKind(
    name="links",
    label="dataset of links",
    done="written",
    work=_work,
    effects=OF_ROWS,  # the parts go with their run, and withdrawn pages leave them
    queue=IDLE,
    due=_due,
    kept=KEPT_HOUR,
)
