"""The state of an export of a run."""

from __future__ import annotations

from dataclasses import dataclass

from crawling.jobs.enqueue import jobs_of
from crawling.jobs.kinds import JobKind
from crawling.jobs.removal import CHANGED
from crawling.models import BackgroundJob, Run
from crawling.uses.exports.rows import exported_runs, readable_export
from crawling.uses.exports.run_export import RunExport

ENDINGS = {"wacz": ".wacz", "mirror": "-mirror.zip", "latest-mirror": "-latest-mirror.zip"}


@dataclass(frozen=True)
class ExportState:
    """The state of an export of one run, or of a crawl where it has one for all runs."""

    run: Run
    kind: JobKind
    #: that can be given out
    file: RunExport | None
    #: whether the run has archived more since that was asked for
    is_outdated: bool
    #: that makes one
    under_way: BackgroundJob | None
    #: why the last one is not there
    trouble: str
    #: the last one, if a user has cancelled it
    cancelled: BackgroundJob | None = None

    @property
    def name(self) -> str:
        of_run = "" if self.kind.is_of_crawl else f"-run-{self.run.number}"
        return f"crawl-{self.run.crawl_id}{of_run}{ENDINGS[self.kind.name]}"

    @property
    def missing(self) -> int:
        """How many documents of the run are not in the file."""
        return self.file.layout.missing if self.file else 0


def state_of(run: Run, kind: JobKind) -> ExportState:
    file, latest = readable_export(run, kind), jobs_of(kind, run).first()
    under_way = latest if latest and latest.is_open else None
    trouble = latest.trouble if latest else ""
    if latest and not (under_way or trouble or file):
        trouble = CHANGED
    cancelled = latest if latest and latest.cancelled_at else None
    is_old = bool(file and file.is_outdated(exported_runs(run, kind)))
    return ExportState(run, kind, file, is_old, under_way, trouble, cancelled)
