"""The unpacked bytes of a file from a stranger, in plain form, gzip or Zstandard, member by member.

A part that cannot be unpacked is a gap. Reading stops before it, and continues with the next member
that begins like a record.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import IO, Protocol, TypeAlias

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE_BYTES = 64 * 1024
GZIP = b"\x1f\x8b"
#: with the only compression method that exists
GZIP_MEMBER = b"\x1f\x8b\x08"
ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
#: the last four of the 16 numbers of skippable frames; the first frame may be a dictionary
#: (WARC-zstd 1.0, section 2)
ZSTD_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
MOST_DICTIONARY = 16 * 1024 * 1024
#: the limit of `zstd -d`: 128 MiB
ZSTD_WINDOW_LOG = 27
#: the beginnings of records
RECORD = re.compile(rb"(?i:WARC)/[0-9]|[A-Za-z][A-Za-z0-9+.-]{1,20}:")
#: bytes that may be between two members
PADDING = b"\0\r\n"
#: the most places behind damage that are tried because they look like the beginning of a member
MOST_TRIALS = 1_000_000
TRIAL_BYTES = 4096
#: the size of the steps behind damage: a decoder loses the output of the step in which it meets
#: damage, so these are small
SALVAGED_BYTES = 64
#: the bytes that are read again behind damage, since a decoder notices it late
KEPT_BYTES = 256 * 1024
OTHERS = {
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!": "RAR",
}

#: the mark of a tar file, and its place in the header of the first file (POSIX pax)
TAR, TAR_AT = b"ustar", 257
#: the beginning of a file, which shows its compression
START_BYTES = 512

UNPACKABLE = (zlib.error, zstd.ZstdError)


@dataclass(frozen=True)
class Gap:
    offset: int
    why: str
    #: whether the file ends within a member, whose beginning is intact
    is_cut_off: bool = False


@dataclass(frozen=True)
class PackedMember:
    """A member of the compressed file begins."""

    offset: int


Part: TypeAlias = bytes | Gap | PackedMember


class UnpackedBytes:
    """The unpacked bytes of a file. No single read crosses a gap or the beginning of a member.

    count: called with the size of all output.
    """

    def __init__(self, file: IO[bytes], count: Callable[[int], None]) -> None:
        self._file, self._count = file, count
        self._parts = _unpacked_parts(file)
        self._data, self._at = b"", 0
        self._is_at_end = False
        #: the place of the member, or of the first byte that was not read
        self._offset, self._is_packed = 0, False
        self._waiting: Gap | PackedMember | None = None

    @property
    def offset(self) -> int:
        """The place in the file from which reading continues. For compressed bytes, the beginning
        of their member.
        """
        return self._offset if self._is_packed else self._offset + self._at

    @property
    def gap(self) -> Gap | None:
        """The gap, if all bytes before it are read."""
        self._read_at_least(1)
        return self._waiting if isinstance(self._waiting, Gap) and not self._bytes_left else None

    @property
    def is_at_member(self) -> bool:
        """Whether a member is completely read, and another follows."""
        self._read_at_least(1)
        return isinstance(self._waiting, PackedMember) and not self._bytes_left

    @property
    def is_at_end(self) -> bool:
        self._read_at_least(1)
        return self._is_at_end and not self._bytes_left

    def go_on(self) -> None:
        """Continue behind the gap, or in the next member."""
        if isinstance(self._waiting, PackedMember):
            self._offset, self._is_packed = self._waiting.offset, True
        self._waiting = None

    def peek(self, most: int) -> bytes:
        """The next bytes, up to a gap or another member."""
        self._read_at_least(most)
        return self._data[self._at : self._at + most]

    def read(self, most: int) -> bytes:
        """The next bytes; b"" at the end, at a gap, and before a member."""
        self._read_at_least(1)
        piece = self._data[self._at : self._at + min(most, PIECE_BYTES)]
        self._at += len(piece)
        return piece

    def line(self, most: int) -> bytes:
        """The next line, or the first `most` bytes of it."""
        searched = 0
        while (end := self._data.find(b"\n", self._at + searched, self._at + most)) < 0:
            searched = self._bytes_left
            if searched >= most or not self._take_piece():
                end = min(self._at + most, len(self._data)) - 1
                break
        line = self._data[self._at : end + 1]
        self._at = end + 1
        return line

    def put_back(self, pieces: Iterable[bytes], size: int) -> None:
        """Let the last `size` bytes be read again."""
        rest = self._data[self._at :]
        waiting = [self._waiting] if self._waiting else []
        self._offset -= 0 if self._is_packed else size - self._at
        self._parts = chain(pieces, [rest], waiting, self._parts)
        self._data, self._at, self._waiting, self._is_at_end = b"", 0, None, False

    @property
    def _bytes_left(self) -> int:
        return len(self._data) - self._at

    def _read_at_least(self, least: int) -> None:
        while self._bytes_left < least and self._take_piece():
            pass

    def _take_piece(self) -> bool:
        """Take in one more piece. Return False if there is none before a gap, a member or the
        end.
        """
        if self._waiting or self._is_at_end:
            return False
        part = next(self._parts, None)
        if part is None:
            self._is_at_end = True
        elif isinstance(part, bytes):
            self._count(len(part))
            if not self._is_packed:
                self._offset += self._at
            self._data, self._at = self._data[self._at :] + part, 0
            return True
        elif isinstance(part, PackedMember) and not self._bytes_left:
            self._waiting = part
            if not self._is_packed:  # the first
                self.go_on()
                return True
        else:
            self._waiting = part
        return False


def other_packing(start: bytes) -> str:
    """The name of an unsupported compression; empty if unknown."""
    if start[TAR_AT:].startswith(TAR):
        return "tar"
    return next((name for magic, name in OTHERS.items() if start.startswith(magic)), "")


def _unpacked_parts(file: IO[bytes]) -> Iterator[Part]:
    packed = _PackedBytes(file)
    start = packed.peek(4)
    if start.startswith(GZIP):
        yield from _Members(packed, GZIP_MEMBER, _Inflater).parts()
    elif start == ZSTD_FRAME or ZSTD_SKIPPABLE.match(start):
        dictionary = _dictionary_of(packed)
        yield from _Members(packed, ZSTD_FRAME, lambda: _ZstdFrame(dictionary)).parts()
    else:
        while piece := packed.take(PIECE_BYTES):
            yield piece


def _dictionary_of(packed: _PackedBytes) -> zstd.ZstdDict | None:
    if not packed.peek(4).startswith(ZSTD_DICTIONARY):
        return None
    size = int.from_bytes(packed.peek(8)[4:], "little")
    if size > MOST_DICTIONARY:
        raise ValueError("its dictionary is larger than 16 MiB")
    packed.take(8)
    content = b""
    while piece := packed.take(size - len(content)):
        content += piece
    if content.startswith(ZSTD_FRAME):
        content = zstd.ZstdDecompressor().decompress(content, MOST_DICTIONARY)
    return zstd.ZstdDict(content)


class _Machine(Protocol):
    """Unpacks one member, PIECE_BYTES at a time."""

    is_ended: bool
    #: the bytes behind the member
    behind: bytes

    def feed(self, data: bytes) -> bytes:
        """Decompress some data; b"" returns the rest."""
        ...

    def bytes_before_damage(self) -> Iterator[bytes]:
        """The bytes that can still be read after `feed` has raised an error."""
        ...


class _Inflater:
    def __init__(self) -> None:
        self._inflater, self.is_ended, self.behind = zlib.decompressobj(31), False, b""
        self._before, self._data = self._inflater, b""

    def feed(self, data: bytes) -> bytes:
        self._data = data or self._inflater.unconsumed_tail
        self._before = self._inflater.copy()
        piece = self._inflater.decompress(self._data, PIECE_BYTES)
        self.is_ended, self.behind = self._inflater.eof, self._inflater.unused_data
        return piece

    def bytes_before_damage(self) -> Iterator[bytes]:
        with suppress(zlib.error):
            for at in range(0, len(self._data), SALVAGED_BYTES):
                yield self._before.decompress(self._data[at : at + SALVAGED_BYTES])


class _ZstdFrame:
    def __init__(self, dictionary: zstd.ZstdDict | None) -> None:
        options = {int(zstd.DecompressionParameter.window_log_max): ZSTD_WINDOW_LOG}
        self._frame = zstd.ZstdDecompressor(dictionary, options)
        self.is_ended, self.behind = False, b""

    def feed(self, data: bytes) -> bytes:
        if not data and self._frame.needs_input:
            return b""
        piece = self._frame.decompress(data, PIECE_BYTES)
        self.is_ended = self._frame.eof
        self.behind = self._frame.unused_data if self.is_ended else b""
        return piece

    def bytes_before_damage(self) -> Iterator[bytes]:
        return iter(())  # a frame is always decompressed block by block


class _Members:
    """The members of a compressed file. magic: the beginning of each."""

    def __init__(self, packed: _PackedBytes, magic: bytes, machine: Callable[[], _Machine]) -> None:
        self._packed, self._magic, self._machine = packed, magic, machine
        self._trials = 0

    def parts(self) -> Iterator[Part]:
        while start := self._packed.peek(8):
            offset, gap = self._packed.offset, None
            if start.startswith(self._magic[:2]):
                gap = yield from self._member(offset)
            elif self._magic == ZSTD_FRAME and ZSTD_SKIPPABLE.match(start):
                self._packed.skip(8 + int.from_bytes(start[4:], "little"))
            elif start[0] in PADDING:
                self._packed.skip(len(start) - len(start.lstrip(PADDING)))
            else:
                gap = Gap(offset, "this is no member of a packed file")
            if gap:
                yield gap
                if gap.is_cut_off or not self._find_member(offset + 1):
                    return

    def _member(self, offset: int) -> Generator[Part, None, Gap | None]:
        yield PackedMember(offset)
        machine = self._machine()
        try:
            while not machine.is_ended:
                if not (data := self._packed.take(PIECE_BYTES)):
                    return Gap(offset, "the file is cut off", is_cut_off=True)
                piece = machine.feed(data)
                while piece:
                    yield piece
                    piece = b"" if machine.is_ended else machine.feed(b"")
        except UNPACKABLE as error:
            yield from machine.bytes_before_damage()
            return Gap(offset, f"it cannot be unpacked ({error})")
        self._packed.put_back(machine.behind)
        return None

    def _find_member(self, least: int) -> bool:
        """Go to the next member that begins like a record. Return False if there is none."""
        self._packed.rewind(least)
        while self._packed.find(self._magic):
            self._trials += 1
            if self._trials > MOST_TRIALS:
                return False
            if self._begins_like_a_record(self._packed.peek(TRIAL_BYTES)):
                return True
            self._packed.skip(1)
        return False

    def _begins_like_a_record(self, start: bytes) -> bool:
        try:
            return bool(RECORD.match(self._machine().feed(start)))
        except UNPACKABLE:
            return False


class _PackedBytes:
    """The bytes of a file. The latest ones can be read again."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        #: the bytes in memory; those before `_at` have been read
        self._data, self._at = b"", 0
        #: the place of the first byte of `_data`
        self._begin = 0

    @property
    def offset(self) -> int:
        return self._begin + self._at

    def peek(self, most: int) -> bytes:
        while len(self._data) - self._at < most and self._read_piece():
            pass
        return self._data[self._at : self._at + most]

    def take(self, most: int) -> bytes:
        """The next bytes, up to `most`; b"" at the end."""
        if self._at >= len(self._data):
            self._read_piece()
        piece = self._data[self._at : self._at + most]
        self._at += len(piece)
        return piece

    def skip(self, size: int) -> None:
        while size > 0 and (piece := self.take(min(size, PIECE_BYTES))):
            size -= len(piece)

    def put_back(self, rest: bytes) -> None:
        """Put back the last taken bytes. If some are no longer kept, put back fewer."""
        self._at -= len(rest)

    def rewind(self, least: int) -> None:
        """Go back to this offset, or to the first byte in memory."""
        self._at = max(0, least - self._begin)

    def find(self, magic: bytes) -> bool:
        """Go to the next occurrence of these bytes. Return False if there is none."""
        while (found := self._data.find(magic, self._at)) < 0:
            self._at = max(self._at, len(self._data) - len(magic) + 1)
            if not self._read_piece():
                return False
        self._at = found
        return True

    def _read_piece(self) -> bool:
        piece = self._file.read(PIECE_BYTES)
        if not piece:
            return False
        cut = max(0, self._at - KEPT_BYTES)
        self._data, self._at = self._data[cut:] + piece, self._at - cut
        self._begin += cut
        return True
