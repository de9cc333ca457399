"""What the header of an archived record says that no row does."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from crawling.archive.records import END
from crawling.errors import ArchiveTrouble

#: of the record, compressed; a header is shorter even with the longest of URLs
HEAD_BYTES = 16 * 1024
MOST_HEADER = 64 * 1024


def header_of(packed: bytes) -> Mapping[str, str]:
    """The fields of a record's header, by their names in lower case, from the beginning of its gzip
    member. Raises ArchiveTrouble.
    """
    try:
        start = zlib.decompressobj(31).decompress(packed, MOST_HEADER)
    except zlib.error as error:
        raise ArchiveTrouble(f"A record cannot be unpacked: {error}.") from error
    header, end, _ = start.partition(END)
    if not end:
        raise ArchiveTrouble("A record has no header.")
    lines = header.decode(errors="replace").split("\r\n")[1:]
    fields = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in fields}
