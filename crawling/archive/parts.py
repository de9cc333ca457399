"""The parts of an archive file in the bucket. Each begins and ends between two records, so it is a
WARC file, too. A row of the database names them, and no list of the bucket is asked for.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any, BinaryIO

from django.db import connection

from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import PIECE_BYTES, has_bucket, local_storage, storage
from crawling.models import ArchiveFile

ENDING = ".warc.gz"
#: Two processes may upload the same bytes, such as a shift that was given up and the next one. The
#: part of the first one counts. A file that was rewritten has another name.
ADD_PART = """
UPDATE crawling_archivefile SET parts = array_append(parts, %(end)s)
WHERE id = %(file)s AND name = %(name)s AND coalesce(parts[array_upper(parts, 1)], 0) = %(begin)s
    AND committed_length >= %(end)s
"""


def part_names(row: ArchiveFile) -> list[str]:
    return [_part_name(row, begin, end) for begin, end in pairwise((0, *row.parts))]


def _part_name(row: ArchiveFile, begin: int, end: int) -> str:
    return f"{row.stored_name.removesuffix(ENDING)}.at{begin:012}-{end:012}{ENDING}"


def open_stored(row: ArchiveFile, offset: int) -> BinaryIO:
    """The file from an offset on: on this machine, or from the bucket. Raises OSError."""
    if has_bucket() and row.parts:
        with suppress(FileNotFoundError):
            return local_storage().open(row.stored_name, offset)
        return io.BufferedReader(_PartsReader(row, offset))
    return storage().open(row.stored_name, offset)


def with_descriptor(file: BinaryIO, length: int) -> BinaryIO:
    """A file that a program can read by its descriptor: the given one, or a copy of its next
    `length` bytes.
    """
    try:
        file.fileno()
    except io.UnsupportedOperation:
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        while length and (piece := file.read(min(PIECE_BYTES, length))):
            length -= copy.write(piece)
        copy.seek(0)
        file.close()
        return copy
    return file


def upload(row: ArchiveFile) -> None:
    """Upload the committed bytes of a file that are not in the bucket yet, as one part.

    The row may be read earlier, since bytes that were committed never change. Raises OSError.
    """
    begin, end = row.uploaded_length, row.committed_length
    name = _part_name(row, begin, end)
    storage().put(name, _local_bytes(row, begin, end))
    with connection.cursor() as cursor:
        values: dict[str, int | str]
        values = {"file": row.pk, "name": row.name, "begin": begin, "end": end}
        cursor.execute(ADD_PART, values)
        is_added = cursor.rowcount == 1
    if is_added:
        row.parts = [*row.parts, end]
        return
    row.refresh_from_db(fields=["name", "parts", "committed_length"])
    if name not in part_names(row):
        storage().delete(name)


def _local_bytes(row: ArchiveFile, begin: int, end: int) -> Iterator[bytes]:
    with local_storage().open(row.stored_name, begin) as file:
        left = end - begin
        while left:
            piece = file.read(min(PIECE_BYTES, left))
            if not piece:
                raise ArchiveTrouble(f"{row.name} lacks {left:,} bytes on this machine.")
            left -= len(piece)
            yield piece


def delete_stored(row: ArchiveFile) -> None:
    """Delete the file and its parts. Raises OSError."""
    for name in (row.stored_name, *part_names(row)):
        storage().delete(name)


class _PartsReader(io.RawIOBase):
    """The bytes of a file from an offset on, part by part. Raises OSError and ArchiveTrouble."""

    def __init__(self, row: ArchiveFile, offset: int) -> None:
        self._row, self._at, self._end = row, offset, offset
        self._part: BinaryIO | None = None
        self._open_part()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_CUR: self._at, os.SEEK_END: self._row.committed_length}
        self._at = self._end = offset + base.get(whence, 0)
        return self._at

    def readinto(self, buffer: Any) -> int:
        if self._at == self._end and not self._open_part():
            return 0
        assert self._part is not None
        piece = self._part.read(min(len(buffer), self._end - self._at))
        if not piece:
            raise ArchiveTrouble(f"A part of {self._row.name} in the bucket is too short.")
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def close(self) -> None:
        if self._part:
            self._part.close()
        super().close()

    def _open_part(self) -> bool:
        """Open the part with the next byte. Return False at the end of the file."""
        if self._at >= self._row.uploaded_length:
            self._row.refresh_from_db(fields=["parts", "committed_length"])
        if self._at >= self._row.committed_length:
            return False
        for begin, end in pairwise((0, *self._row.parts)):
            if begin <= self._at < end:
                if self._part:
                    self._part.close()
                name = _part_name(self._row, begin, end)
                self._part, self._end = storage().open(name, self._at - begin), end
                return True
        raise ArchiveTrouble(
            f"{self._row.machine} is still writing this part of {self._row.name}; it is in the "
            "bucket a minute after it was fetched, or once its work session has ended."
        )
