"""Unpacks a record of the archive.

`crawling.archive.viewer` runs this module as a separate program for the head of an answer, and for
pictures. The module imports little, because a user waits for the program, and the import of the
decoders takes 0.3 s.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain

from crawling.archive.records import END
from crawling.base.errors import ArchiveTrouble
from crawling.machine.sandbox_program import run_sandboxed
from crawling.web.document_stream import DocumentStream, new_spool

#: the most bytes of a document that are unpacked to be shown
MOST_SHOWN = 16 * 1024 * 1024
#: the most bytes of a record besides its document: its header, the answer's head, and the overhead
#: of compressing a document that cannot be compressed
MOST_AROUND = 2 * 1024 * 1024
#: the largest record of another program; records of our own crawls are smaller
MOST_RECORD = 2 * 1024**3
#: the most bytes of a record that are read if only its head is wanted
MOST_HEAD = 512 * 1024
PIECE_BYTES = 256 * 1024


@dataclass(frozen=True)
class StoredRecord:
    header: str
    #: the head of the HTTP answer; empty for a resource
    head: str
    #: the payload of the HTTP answer; empty for a revisit
    payload: bytes


@dataclass(frozen=True)
class OpenRecord:
    """A record of which only header and head are in memory. Its receiver closes its payload."""

    header: str
    head: str
    payload: DocumentStream


def read_record(packed: bytes, most: int = MOST_SHOWN) -> StoredRecord:
    """Unpack a record from its gzip member, up to `most` bytes of the record. Raises
    ArchiveTrouble.
    """
    record = open_record([packed], most)
    stored = StoredRecord(record.header, record.head, record.payload.read())
    record.payload.close()
    return stored


def open_record(packed: Iterable[bytes], most: int) -> OpenRecord:
    """Unpack a record from the parts of its gzip member, up to `most` bytes of the record.

    Raises ArchiveTrouble.
    """
    parts, start = _inflated(packed, most), bytearray()
    end = _read_until(start, parts, lambda: start.find(END))
    if end < 0:
        raise ArchiveTrouble("The record has no header.")
    header = bytes(start[:end])
    del start[: end + len(END)]
    length = int(header.rpartition(b"Content-Length: ")[2])
    at = 0
    if b"\r\nWARC-Type: resource\r\n" not in header:
        at = _read_until(start, parts, lambda: _end_of_head(start))
        at = min(len(start), length) if at < 0 else at
    head = bytes(start[:at]).decode("latin-1")
    payload = _spooled_document(chain([bytes(start[at:])], parts), length - at)
    return OpenRecord(header.decode(errors="replace"), head, payload)


def _read_until(start: bytearray, parts: Iterator[bytes], find: Callable[[], int]) -> int:
    """Take parts until `find` finds its text in them. Return the place of the text; -1 if it is in
    none.
    """
    while (at := find()) < 0 and len(start) <= MOST_HEAD:
        if not (part := next(parts, b"")):
            break
        start += part
    return at


def _inflated(packed: Iterable[bytes], most: int) -> Iterator[bytes]:
    machine = zlib.decompressobj(31)
    try:
        for part in packed:
            rest = part
            while rest and most > 0 and not machine.eof:
                piece = machine.decompress(rest, min(most, PIECE_BYTES))
                rest, most = machine.unconsumed_tail, most - len(piece)
                yield piece
    except zlib.error as error:
        raise ArchiveTrouble(f"The record cannot be unpacked: {error}.") from error


def _spooled_document(parts: Iterable[bytes], length: int) -> DocumentStream:
    spool, size = new_spool(), 0
    with ExitStack() as faulty:
        faulty.callback(spool.close)
        for part in parts:
            size += spool.write(part[: length - size])
        faulty.pop_all()
    return DocumentStream(spool, size)


def _end_of_head(block: bytes | bytearray) -> int:
    """The end of the head, after an empty line with one of two kinds of line end; -1 if there is
    none.
    """
    ends = [at + len(end) for end in (b"\r\n\r\n", b"\n\n") if (at := block.find(end)) >= 0]
    return min(ends, default=-1)


def write_part(length: str, part: str) -> None:
    """Write a part of a record: its `head`, which is its header, a NUL, and the head of its answer;
    or its `payload` as it is stored. The standard input begins with the record's `length` bytes.
    """
    packed = sys.stdin.buffer.read(int(length))
    if part == "payload":
        sys.stdout.buffer.write(read_record(packed).payload)
        return
    record = read_record(packed, MOST_HEAD)
    sys.stdout.buffer.write(f"{record.header}\0{record.head}".encode())


if __name__ == "__main__":
    run_sandboxed(write_part, ArchiveTrouble)
