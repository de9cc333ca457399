"""The file that a job has made from a run, or from all runs of a crawl."""

from __future__ import annotations

from dataclasses import dataclass

from crawling.archive.packages.stored_package import StoredPackage, package_fields
from crawling.models import BackgroundJob, Run


@dataclass(frozen=True)
class RunExport(StoredPackage):
    #: the run; for all runs of a crawl, the run that was the latest at the request
    run: Run

    @classmethod
    def of(cls, job: BackgroundJob) -> RunExport:
        assert job.run is not None
        return cls(**package_fields(job), run=job.run)
