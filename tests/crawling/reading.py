"""Reads documents a second time to the end, on machines of any speed."""

from __future__ import annotations

from crawling.datasets.jobs import SECOND_READING
from crawling.datasets.progress import unindexed_parts
from crawling.jobs.enqueue import open_job
from crawling.jobs.running import run_job
from crawling.models import Run
from crawling.uses.search.jobs import INDEXING


def read_when_idle(run_id: int) -> str:
    """The result of one turn of the job that reads the run's pages again."""
    return run_job(open_job(SECOND_READING, Run.objects.get(pk=run_id), by=None).pk)


def index_what_was_read() -> None:
    """Add the documents to the search index, by its job, to the end."""
    while (ending := run_job(open_job(INDEXING, None, by=None).pk)) == "others wait":
        pass
    assert ending == "added"


def read_to_the_end(run: Run) -> None:
    """Read again to the end. A turn that takes long ends early if a job waits, as one of the test's
    own may; what it has read by then is added to the search index by another job.
    """
    while (ending := read_when_idle(run.pk)) == "others wait":
        pass
    assert ending == "read"
    if unindexed_parts().exists():
        index_what_was_read()
