"""The place of each byte of a package: a file of the archive, or the package's own stored part.

A ZIP file may contain its files uncompressed, one after the other. So the archive's files need not
be copied into it; only the bytes around them are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from tempfile import SpooledTemporaryFile
from typing import Any

from crawling.models import WithdrawalFile

#: the source of a segment in the package's own stored part. A positive source is the id of a file
#: of the archive; a negative source replaces withdrawn records of the file with the opposite id.
REST = 0
MOST_IN_MEMORY, PIECE = 1024 * 1024, 64 * 1024


@dataclass
class Layout:
    #: the archive's files that are in the package in whole or in part: names by id
    files: dict[str, str] = field(default_factory=dict)
    #: ids of withdrawals. The package leaves out their records, although the files still have them
    withdrawals: list[int] = field(default_factory=list)
    #: the committed length of each file of the package's runs
    lengths: dict[str, int] = field(default_factory=dict)
    #: the number of documents that are missing because the archive of this machine does not have
    #: them
    missing: int = 0
    #: ids of the runs whose pages are in the package
    runs: list[int] = field(default_factory=list)
    #: ids of other runs in whose archives payloads of these runs are
    payload_runs: list[int] = field(default_factory=list)
    #: ids of deleted runs. Until they are restored, the package lacks payloads of its single pages
    lacking_runs: list[int] = field(default_factory=list)
    #: source, offset in the source, and length of each segment
    segments: list[list[int]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class LayoutWriter:
    """The target of a ZIP file's writes.

    It notes the place of each byte. Bytes without another place are kept until they are taken; if
    they are many, such as the directory of a ZIP file with very many files, they are kept on disk.
    """

    def __init__(self) -> None:
        self.segments: list[list[int]] = []
        self.size = self._rest = 0
        self._kept = SpooledTemporaryFile(MOST_IN_MEMORY)  # noqa: SIM115  # `close` closes it
        self._place: tuple[int, int] | None = None

    def at(self, source: int, offset: int) -> None:
        """Note the place of the bytes of the next write. Later writes are not affected."""
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
        """Do nothing, since no written bytes are buffered."""

    def taken(self) -> Iterator[bytes]:
        """The bytes to be stored that no earlier call has yielded, piece by piece."""
        self._kept.seek(0)
        while piece := self._kept.read(PIECE):
            yield piece
        self._kept.seek(0)
        self._kept.truncate()

    def close(self) -> None:
        """Close the writer. Bytes that were not taken are lost."""
        self._kept.close()


def pending_withdrawals(files: Iterable[int]) -> list[int]:
    """Ids, in order, of the withdrawals whose records these files may still have."""
    found = WithdrawalFile.objects.filter(file__in=list(files), done_at=None)
    return sorted(set(found.values_list("withdrawal", flat=True)))
