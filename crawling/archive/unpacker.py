"""Takes a record of the archive apart. `looking` runs this module as a program of its own."""

from __future__ import annotations

import resource
import sys
import zlib
from dataclasses import dataclass

from requests.exceptions import ContentDecodingError

from crawling.archive.records import END
from crawling.errors import ArchiveTrouble
from crawling.web.fetch.content_codings import DecodedBody
from crawling.web.http_caching.revalidation import read_head

#: no more of a document than this is unpacked to be looked at
MOST_SHOWN = 16 * 1024 * 1024
#: of a record whose head alone is wanted
MOST_HEAD = 512 * 1024
PIECE_BYTES = 256 * 1024
#: as a program: which part is wanted, and its exit status for a record that is none
HEAD, DOCUMENT = "head", "document"
DAMAGED = 3
CPU_SECONDS = 8
MEMORY_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True)
class StoredRecord:
    """A record as it was written."""

    header: str
    #: the HTTP answer's; empty for a resource
    head: str
    #: the HTTP answer's; empty for a revisit
    payload: bytes


def read_record(packed: bytes, most: int = MOST_SHOWN) -> StoredRecord:
    """Unpack a record from its gzip member, up to `most` bytes of it. Raises ArchiveTrouble."""
    try:
        raw = zlib.decompressobj(31).decompress(packed, most)
    except zlib.error as error:
        raise ArchiveTrouble(f"The record cannot be unpacked: {error}.") from error
    header, _, block = raw.partition(b"\r\n\r\n")
    if b"\r\nWARC-Type: resource\r\n" in header:
        return StoredRecord(header.decode(errors="replace"), "", block.removesuffix(END))
    head, line, payload = block.partition(_end_of_head(block))
    length = int(header.rpartition(b"Content-Length: ")[2])
    return StoredRecord(
        header.decode(errors="replace"),
        (head + line).decode("latin-1"),
        payload[: max(0, length - len(head + line))],
    )


def _end_of_head(block: bytes) -> bytes:
    """The empty line with which the head ends; servers send it in either form."""
    ends = [(found, end) for end in (b"\r\n\r\n", b"\n\n") if (found := block.find(end)) >= 0]
    return min(ends)[1] if ends else b"\r\n\r\n"


def document_in(record: StoredRecord) -> bytes:
    """The payload as a browser would read it, by the codings that its head names."""
    return decoded(record.payload, read_head(record.head).get("content-encoding", ""))


def decoded(payload: bytes, coding: str) -> bytes:
    """A payload as a browser would read it, no more than may be shown.

    It is given as it is, if it cannot be unpacked.
    """
    packed = (payload[at : at + PIECE_BYTES] for at in range(0, len(payload), PIECE_BYTES))
    pieces: list[bytes] = []
    size = 0
    try:
        for piece in DecodedBody(packed, coding):
            pieces.append(piece)
            size += len(piece)
            if size >= MOST_SHOWN:
                break
    except ContentDecodingError:
        return payload
    return b"".join(pieces)[:MOST_SHOWN]


def main(part: str, length: int) -> None:
    """Write a part of the record at which the input stands, which has `length` bytes.

    The header of the record and the head of the answer have a NUL between them.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    packed = sys.stdin.buffer.read(length)
    if part == HEAD:
        record = read_record(packed, MOST_HEAD)
        sys.stdout.buffer.write(f"{record.header}\0{record.head}".encode())
    else:
        sys.stdout.buffer.write(document_in(read_record(packed)))


if __name__ == "__main__":
    try:
        main(sys.argv[1], int(sys.argv[2]))
    except ArchiveTrouble as trouble:
        sys.stderr.write(str(trouble))
        sys.exit(DAMAGED)
