"""The file that a job has made of a run, or of all runs of a crawl."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from crawling.base.storage import storage
from crawling.models import ArchiveFile, BackgroundJob, Run, WithdrawalFile
from crawling.uses.exports.layout import Layout


@dataclass(frozen=True)
class RunExport:
    """A run as one file, of which only what is not in the archive is stored."""

    #: of its job
    id: int
    #: or the latest of the crawl then
    run: Run
    #: of what is stored
    name: str
    asked_at: datetime
    pages: int
    #: of the whole file
    bytes: int
    layout: Layout

    @classmethod
    def of(cls, job: BackgroundJob) -> RunExport:
        """The export of a job that is done."""
        assert job.run is not None
        assert job.result is not None
        said = job.result
        layout = Layout(**said["layout"])
        return cls(
            job.pk, job.run, stored_file(job), job.asked_at, said["pages"], said["bytes"], layout
        )

    @property
    def is_readable(self) -> bool:
        """Whether it may be given out as it is: its archive files are as they were, no other page
        was withdrawn since, and no run deleted.
        """
        ids = [int(pk) for pk in self.layout.files]
        names = dict(ArchiveFile.objects.filter(pk__in=ids).values_list("pk", "name"))
        runs = Run.objects.filter(pk__in=self.layout.runs, removal_asked_at=None)
        return (
            {str(pk): name for pk, name in names.items()} == self.layout.files
            and runs.count() == len(self.layout.runs)
            and pending_withdrawals(ids) == self.layout.withdrawals
            and storage().size(self.name) is not None
        )

    def is_outdated(self, runs: Iterable[Run]) -> bool:
        newer = ArchiveFile.objects.filter(run__in=list(runs), committed_length__gt=0)
        lengths = dict(newer.values_list("pk", "committed_length"))
        known = self.layout.lengths
        return any(known.get(str(pk), 0) < length for pk, length in lengths.items())


def result_of(layout: Layout, *, pages: int, size: int) -> Mapping[str, Any]:
    """The fields that `RunExport.of` reads again."""
    return {"pages": pages, "bytes": size, "layout": layout.as_json()}


def stored_file(job: BackgroundJob) -> str:
    return job.file("rest")


def pending_withdrawals(files: Iterable[int]) -> list[int]:
    """Ids of the withdrawals whose records these files may have still, in order."""
    found = WithdrawalFile.objects.filter(file__in=list(files), done_at=None)
    return sorted(set(found.values_list("withdrawal", flat=True)))
