"""The work of the job that reads a run's stored pages again."""

from __future__ import annotations

from crawling.datasets.progress import unread_parts
from crawling.datasets.second_reading import pages_read, read_part
from crawling.installation.events import texts_read
from crawling.jobs.kinds import JobResult
from crawling.jobs.running_job import JobWaits, RunningJob


def read_parts(job: RunningJob) -> JobResult:
    """After a kill it continues where it was, since parts that are read say so. Raises JobWaits."""
    is_all_read = True
    for part in unread_parts(job.run):
        pages = read_part(job.run, part, goes_on=job.goes_on)
        is_all_read &= pages is not None
        if not job.goes_on():
            texts_read()
            return None
        job.bookmark(part.pk)
    if not is_all_read:
        raise JobWaits("a command reads the rest")
    pages_read(job.run)
    return {}
