"""The background job that reads a source of seeds."""

from __future__ import annotations

from collections.abc import Iterator

from crawling.jobs.kinds import KEPT_HOUR, OF_ROWS, DueJob, JobKind, JobResult, JobScope
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.running_job import RunningJob


def _read_source(job: RunningJob) -> JobResult:
    # readers of documents are imported only where they are needed
    from crawling.uses.seed_sources.reading import read_source

    read_source(job.row.spec["source"])
    return {}


def _due_jobs() -> Iterator[DueJob]:
    from crawling.uses.seed_sources.reading import due_sources

    for source in due_sources():
        yield DueJob(f"source {source}", spec={"source": source})


SEED_SOURCE = JobKind(
    name="seed-source",
    label="reading of a source of start URLs",
    done="read",
    work=_read_source,
    effects=OF_ROWS,  # the job adds seeds of a crawl
    seconds=15 * 60,
    queue=IDLE,
    scope=JobScope.INSTALLATION,
    due=_due_jobs,
    kept=KEPT_HOUR,
)
KINDS = (SEED_SOURCE,)
