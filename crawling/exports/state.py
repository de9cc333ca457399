"""What is to be known of an export of a run."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from crawling.exports.layout import Layout
from crawling.exports.rows import (
    CHANGED,
    KILLED,
    exported_runs,
    is_outdated,
    latest_export,
    longest,
    readable_export,
)
from crawling.models import Run, RunExport
from crawling.models.datasets import ExportKind

ENDINGS: dict[str, str] = {
    ExportKind.WACZ: ".wacz",
    ExportKind.MIRROR: "-mirror.zip",
    ExportKind.LATEST_MIRROR: "-latest-mirror.zip",
}


@dataclass(frozen=True)
class ExportState:
    """Of one run and one kind, or of a crawl where it has one for all runs."""

    run: Run
    kind: ExportKind
    #: that can be given out
    file: RunExport | None
    #: whether the run has archived more since that was asked for
    is_outdated: bool
    #: one that a background job writes
    under_way: RunExport | None
    #: why the last one is not there
    trouble: str
    #: the last one, if a user has cancelled it
    cancelled: RunExport | None = None

    @property
    def name(self) -> str:
        of_run = "" if self.kind.is_of_crawl else f"-run-{self.run.number}"
        return f"crawl-{self.run.crawl_id}{of_run}{ENDINGS[self.kind]}"

    @property
    def missing(self) -> int:
        """How many documents of the run are not in the file."""
        return Layout.of(self.file).missing if self.file else 0


def state_of(run: Run, kind: ExportKind) -> ExportState:
    file, latest = readable_export(run, kind), latest_export(run, kind)
    under_way, trouble = None, ""
    if latest and not latest.written_at:
        is_late = latest.asked_at + longest(kind) < timezone.now()
        trouble = latest.trouble or (KILLED if is_late else "")
        under_way = None if trouble else latest
    elif latest and not file:
        trouble = CHANGED
    cancelled = latest if latest and latest.cancelled_at else None
    is_old = bool(file and is_outdated(file, exported_runs(run, kind)))
    return ExportState(run, kind, file, is_old, under_way, trouble, cancelled)
