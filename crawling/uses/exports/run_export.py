"""The file that a job has made of a run, or of all runs of a crawl."""

from __future__ import annotations

from dataclasses import dataclass

from crawling.archive.packages.stored_package import StoredPackage, facts_of
from crawling.models import BackgroundJob, Run


@dataclass(frozen=True)
class RunExport(StoredPackage):
    #: or the latest of the crawl then
    run: Run

    @classmethod
    def of(cls, job: BackgroundJob) -> RunExport:
        assert job.run is not None
        return cls(**facts_of(job), run=job.run)
