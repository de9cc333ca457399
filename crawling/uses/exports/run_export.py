"""The file that a job has made of a run, or of all runs of a crawl, and the files of its bytes.

A ZIP file may have its files uncompressed, one after the other. So the archive's files need not be
copied into it: only what is around them is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from tempfile import SpooledTemporaryFile
from typing import Any

from crawling.base.storage import storage
from crawling.models import ArchiveFile, BackgroundJob, Run, WithdrawalFile

#: as the source of a segment: the stored rest. A positive source is the id of a file of the
#: archive, a negative one takes the place of withdrawn records of that file.
REST = 0
MOST_IN_MEMORY, PIECE = 1024 * 1024, 64 * 1024


@dataclass
class Layout:
    #: names of the archive's files, by their ids, that it consists of or has records of
    files: dict[str, str] = field(default_factory=dict)
    #: ids of withdrawals whose records it leaves out though the files have them still
    withdrawals: list[int] = field(default_factory=list)
    #: how much of each file of the run was committed
    lengths: dict[str, int] = field(default_factory=dict)
    #: how many documents are not in it, since the archive of this machine has them not
    missing: int = 0
    #: ids of the runs whose pages it has
    runs: list[int] = field(default_factory=list)
    #: source, offset there, and length of each segment
    segments: list[list[int]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class LayoutWriter:
    """The target of a ZIP file's writes.

    It notes where each byte is, and keeps those that are nowhere else until they are taken; many
    of them on disk, as the directory of a ZIP file with very many files.
    """

    def __init__(self) -> None:
        self.segments: list[list[int]] = []
        self.size = self._rest = 0
        self._kept = SpooledTemporaryFile(MOST_IN_MEMORY)  # noqa: SIM115  # `close` closes it
        self._place: tuple[int, int] | None = None

    def at(self, source: int, offset: int) -> None:
        """The next write has its bytes there; the writes after that have not."""
        self._place = (source, offset)

    def write(self, data: bytes) -> int:
        source, offset = self._place or (REST, self._rest)
        if source == REST:
            self._kept.write(data)
            self._rest += len(data)
        last = self.segments[-1] if self.segments else [REST, 0, 0]
        if self.segments and last[0] == source and last[1] + last[2] == offset:
            last[2] += len(data)
        elif data:
            self.segments.append([source, offset, len(data)])
        self._place = None
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Nothing waits here to be written."""

    def taken(self) -> Iterator[bytes]:
        """The bytes that have to be stored and were not taken yet, piece by piece."""
        self._kept.seek(0)
        while piece := self._kept.read(PIECE):
            yield piece
        self._kept.seek(0)
        self._kept.truncate()

    def close(self) -> None:
        """Bytes that were not taken are lost."""
        self._kept.close()


@dataclass(frozen=True)
class RunExport:
    """A run as one file, of which only what is not in the archive is stored."""

    #: the id of its job
    id: int
    #: or the latest of the crawl then
    run: Run
    #: the name of the stored file
    name: str
    asked_at: datetime
    pages: int
    #: the size of the whole file
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
