"""Link graphs as those see them who read their tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from crawling.jobs.enqueue import jobs_of
from crawling.jobs.kinds import job_kinds
from crawling.models import BackgroundJob, Run

#: the name of the kind of its jobs
KIND = "link-graph"


@dataclass(frozen=True)
class LinkGraph:
    """The files that a job has made, or makes, and counts of their rows."""

    run_id: int | None
    #: what the names of its files begin with
    name: str
    #: that has them
    machine: str
    #: since when its pages are read
    began_at: datetime | None
    ended_at: datetime | None
    #: pages whose links were not in the dataset then, if counted
    behind: int = 0
    pages: int = 0
    #: pairs of pages that a link joins
    links: int = 0
    hosts: int = 0
    weak_components: int = 0
    strong_components: int = 0

    @classmethod
    def of(cls, job: BackgroundJob) -> LinkGraph:
        counts = {"behind": job.progress.get("behind", 0), **(job.result or {})}
        return cls(job.run_id, job.name, job.machine, job.began_at, job.ended_at, **counts)

    def file(self, table: str) -> str:
        return f"{self.name}.{table}.parquet"


def computed_graph(run: Run) -> LinkGraph | None:
    job = jobs_of(job_kinds()[KIND], run).filter(ended_at__isnull=False, trouble="").first()
    return LinkGraph.of(job) if job else None


def latest_attempt(run: Run) -> BackgroundJob | None:
    """The job that was asked for last, whatever came of it."""
    return jobs_of(job_kinds()[KIND], run).first()
