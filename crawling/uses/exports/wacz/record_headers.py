"""The facts in the header of an archived record that no row has."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import BinaryIO

from crawling.archive.records import END
from crawling.base.errors import ArchiveTrouble

#: of the record, compressed: almost all headers are shorter
HEAD_BYTES = 16 * 1024
#: with the longest of URLs, and that of the record to which a revisit refers
MOST_HEADER = 256 * 1024


def header_at(file: BinaryIO, offset: int, length: int) -> Mapping[str, str]:
    """The fields of the header of the record at a place of a file. Raises ArchiveTrouble."""
    file.seek(offset)
    start = file.read(min(length, HEAD_BYTES))
    fields = _fields(start)
    if fields is None:
        fields = _fields(start + file.read(min(length, MOST_HEADER) - len(start)))
    return _there(fields)


def header_of(packed: bytes) -> Mapping[str, str]:
    """The fields of a record's header, by their names in lower case, from the beginning of its gzip
    member. Raises ArchiveTrouble.
    """
    return _there(_fields(packed))


def _there(fields: Mapping[str, str] | None) -> Mapping[str, str]:
    if fields is None:
        raise ArchiveTrouble("A record has no header.")
    return fields


def _fields(packed: bytes) -> Mapping[str, str] | None:
    try:
        start = zlib.decompressobj(31).decompress(packed, MOST_HEADER)
    except zlib.error as error:
        raise ArchiveTrouble(f"A record cannot be unpacked: {error}.") from error
    header, end, _ = start.partition(END)
    if not end:
        return None
    lines = header.decode(errors="replace").split("\r\n")[1:]
    fields = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in fields}
