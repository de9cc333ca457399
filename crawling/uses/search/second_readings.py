"""The work of the job that reads a run's stored pages again and adds their texts to the search
index.
"""

from __future__ import annotations

from crawling.datasets.progress import unindexed_parts, unread_parts
from crawling.datasets.second_reading import read_part
from crawling.jobs.enqueue import ask_job
from crawling.jobs.kinds import JobResult, job_kinds
from crawling.jobs.running_job import JobWaits, RunningJob
from crawling.models.jobs import ENDED_STATES
from crawling.uses.search.folder import IndexBusy
from crawling.uses.search.index import IndexWriter, add_parts, writing


def read_and_index(job: RunningJob) -> JobResult:
    """After a kill it continues where it was: parts that are read, or in the index, say so. Raises
    JobWaits.
    """
    try:
        with writing() as index:
            is_done = _read(job, index)
    except IndexBusy as error:
        raise JobWaits(str(error)) from error
    if not is_done:
        return None
    if job.run.state in ENDED_STATES:
        ask_job(job_kinds()["problem-counts"], job.run, by=None)
    return {}


def _read(job: RunningJob, index: IndexWriter) -> bool:
    """Whether all is read and in the index; not if others wait. Raises JobWaits."""
    run, is_all_read = job.run, True
    for part in unread_parts(run):
        pages = read_part(run, part, goes_on=job.goes_on)
        is_all_read &= pages is not None
        if not job.goes_on():
            return False
        add_parts(index, unindexed_parts().filter(pk=part.pk))
        job.bookmark(part.pk)
    for part in unindexed_parts().filter(run=run):
        add_parts(index, [part])
        if not job.goes_on():
            return False
    if not is_all_read:
        raise JobWaits("a command reads the rest")
    return True
