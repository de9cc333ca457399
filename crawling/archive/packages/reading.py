"""Read packages from their stored parts and from the archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from crawling.archive.packages.layout import REST
from crawling.archive.packages.stored_package import StoredPackage
from crawling.archive.reader import CommittedBytes, open_file_from, pieces
from crawling.archive.records import record_id
from crawling.archive.removed_records import TooNarrow, filler_member
from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import storage
from crawling.models import ArchiveFile


def replacing_bytes(row: ArchiveFile, begin: int, length: int, at: datetime) -> Iterator[bytes]:
    """The bytes that replace records of a file. Raises ArchiveTrouble."""
    try:
        return filler_member(length, record_id(row.namespace, begin), at)
    except TooNarrow as error:
        raise ArchiveTrouble(f"{row.name}: {error}.") from error


def read_package(package: StoredPackage, begin: int, end: int) -> Iterator[bytes]:
    """The bytes of a package from `begin` up to `end`, piece by piece.

    The rows are read at the call, the files while the pieces are taken. Raises ArchiveTrouble at
    either time.
    """
    segments = package.layout.segments
    files = ArchiveFile.objects.in_bulk({abs(source) for source, _, _ in segments} - {REST})
    return _read_range(package, files, segments, begin, end)


def _read_range(
    package: StoredPackage,
    files: Mapping[int, ArchiveFile],
    segments: Iterable[Sequence[int]],
    begin: int,
    end: int,
) -> Iterator[bytes]:
    at = 0
    for source, offset, length in segments:
        first, last = max(begin - at, 0), min(end - at, length)
        if first < last and source < REST:
            whole = replacing_bytes(files[-source], offset, length, package.asked_at)
            yield from _range_of(whole, first, last)
        elif first < last:
            yield from _stored_pieces(package, files.get(source), offset + first, last - first)
        at += length


def _stored_pieces(
    package: StoredPackage, file: ArchiveFile | None, offset: int, length: int
) -> Iterator[bytes]:
    source = open_file_from(file, offset) if file else storage().open(package.name, offset)
    return pieces(CommittedBytes(source, length))


def _range_of(whole: Iterator[bytes], first: int, last: int) -> Iterator[bytes]:
    at = 0
    for piece in whole:
        part = piece[max(first - at, 0) : max(last - at, 0)]
        at += len(piece)
        if part:
            yield part
