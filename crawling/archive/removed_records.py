"""Fillers for removed records. A filler has exactly the length of the removed records, so that all
other records of the file keep their offsets and ids. It is one gzip member with one record, stored
uncompressed. So its length is known beforehand, and its zeros are holes in the file.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from datetime import datetime

#: RFC 1952: no name, no time, an unknown system
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
#: CRC-32 and length
GZIP_TRAILER = struct.Struct("<II")
#: the head of a stored block (RFC 1951): whether it is the last, its length, and the complement of
#: the length
BLOCK = struct.Struct("<BHH")
MOST_IN_BLOCK = 65_535
END = b"\r\n\r\n"
#: digits of Content-Length, so that the header always has the same length
DIGITS = 20
#: Without a target and without WARC-Concurrent-To, since a filler belongs to no page.
HEADER = (
    "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {identity}\r\nWARC-Date: {date}\r\n"
    "Content-Type: application/octet-stream\r\nContent-Length: {length:0{digits}}\r\n\r\n"
)


class TooNarrow(ValueError):
    """The removed records are shorter than the shortest record that can take their place."""


def filler_member(length: int, identity: str, at: datetime) -> Iterator[bytes]:
    """A record of zeros whose gzip member has exactly `length` bytes. Raises TooNarrow."""
    blocks, left = 1, length - len(GZIP_HEADER) - GZIP_TRAILER.size - BLOCK.size
    while left > blocks * MOST_IN_BLOCK:
        blocks, left = blocks + 1, left - BLOCK.size
    header = _header(identity, at, 0)
    size = left - len(header) - len(END)
    if size < 0:
        raise TooNarrow(f"{length} bytes have no room for a record")
    return _gzip_member(_header(identity, at, size), size, blocks)


def _header(identity: str, at: datetime, size: int) -> bytes:
    date = at.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
    return HEADER.format(identity=identity, date=date, length=size, digits=DIGITS).encode()


def _gzip_member(header: bytes, zeros: int, blocks: int) -> Iterator[bytes]:
    """The gzip member of a filler. The first piece of the content includes the header, and the last
    piece the end. Each block has up to 65,535 bytes of the content.
    """
    yield GZIP_HEADER
    crc, total = 0, len(header) + zeros + len(END)
    at = 0
    for number in range(1, blocks + 1):
        size = min(MOST_IN_BLOCK, total - at)
        piece = _content_between(header, zeros, at, size)
        crc = zlib.crc32(piece, crc)
        yield BLOCK.pack(number == blocks, size, size ^ 0xFFFF)
        yield piece
        at += size
    yield GZIP_TRAILER.pack(crc, total & 0xFFFFFFFF)


def _content_between(header: bytes, zeros: int, at: int, size: int) -> bytes:
    tail_at = len(header) + zeros
    before = header[at : at + size]
    behind = END[max(0, at - tail_at) : max(0, at + size - tail_at)]
    return before + bytes(size - len(before) - len(behind)) + behind
