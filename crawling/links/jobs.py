"""The background job that writes the links of a run, as far as shifts have collected them."""

from __future__ import annotations

from collections.abc import Iterator

from crawling.jobs.kinds import KEPT_HOUR, OF_ROWS, DueJob, JobKind, JobResult
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.running_job import RunningJob
from crawling.links.parts import collected_parts, lost_parts


def _work(job: RunningJob) -> JobResult:
    # what reads documents is imported by those who need it
    from crawling.links.catch_up import catch_up

    catch_up(job.run.pk)
    return {}


def _due() -> Iterator[DueJob]:
    """Runs of which shifts have collected parts, or left them behind."""
    collected = set(collected_parts().values_list("run", flat=True))
    for run in sorted(collected | set(lost_parts().values_list("run", flat=True))):
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
