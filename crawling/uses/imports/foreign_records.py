"""The records of WARC files (0.17 to 1.1) and of ARC files (1 and 2), one after the other. Damage
costs only the damaged record: reading continues at the next line with which a record begins.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO
from uuid import NAMESPACE_URL, uuid5

from crawling.archive.unpacker import MOST_RECORD
from crawling.uses.imports.unpacked_bytes import PADDING, UnpackedBytes
from crawling.web.document_stream import new_spool

PIECE_BYTES = 64 * 1024
#: the most bytes of all lines of a header; some URLs have a megabyte
MOST_HEADER = 2 * 1024 * 1024
#: the longest line between records; a line with which a record begins is shorter, except in ARC
#: files
LONGEST_LINE = 64 * 1024
#: the bytes that an empty line counts as, since reading it takes as long as reading so many
LEAST_OF_A_LINE = 64
#: a version alone in its line; before 0.17 the line contained the whole header
VERSION = re.compile(rb"WARC/\d{1,3}+\.\d{1,3}+[ \t]*+\r*+\n", re.IGNORECASE)
VERSION_IN_A_LINE = re.compile(rb"WARC/\d{1,3}\.\d{1,3}[ \t]{0,9}\r{0,2}\n", re.IGNORECASE)
LENGTH = re.compile(r"\+?+([0-9]{1,20}+)")
FIELD = re.compile(rb"[A-Za-z][A-Za-z0-9-]{1,40}+[ \t]*+:")
#: the next record, in a block with a wrong length
NEXT_RECORD = re.compile(rb"(?:\r?+\n){0,2}+WARC/\d\.\d{1,2}+\r?+\n[A-Z][A-Za-z-]{3,40}+:")
ARC_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}+:.")
ARC_DATE = re.compile(r"\d{8}(?:\d\d){0,3}(?:\d{3})?")
#: the longest text that is searched for
SEAM_BYTES = 64
#: the digests of blocks that can be recalculated
ALGORITHMS = {
    name: name for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b")
} | {"sha-1": "sha1", "sha-256": "sha256", "sha-384": "sha384", "sha-512": "sha512"}
#: the lengths in hexadecimal digits, for algorithms of 128 to 512 bits
DIGEST_DIGITS = {32, 40, 48, 56, 64, 96, 128}
#: the number of places of damage that are listed
MOST_DAMAGE = 20
#: the digests that are calculated for each payload, by their number of hexadecimal digits
CALCULATED = {32: hashlib.md5, 40: hashlib.sha1, 64: hashlib.sha256}
EMPTY = {make(b"", usedforsecurity=False).hexdigest() for make in CALCULATED.values()}


@dataclass
class ForeignRecord:
    """A record with its block. Its receiver closes the block."""

    kind: str
    #: the values of each field, by its name in lower case
    fields: dict[str, list[str]]
    #: the place where the record begins
    offset: int
    block: IO[bytes]
    size: int = 0
    #: whether the record was too large to be kept as a whole
    is_too_large: bool = False
    #: whether the file is damaged, or ends, within the block
    is_cut_off: bool = False
    #: whether the bytes after the cut are damaged
    is_spoilt: bool = False
    has_stated_digest: bool = True
    is_arc: bool = False
    #: the name of the file, to identify a record without an id
    name: str = ""

    @property
    def made_id(self) -> str:
        return f"<{uuid5(NAMESPACE_URL, f'{self.name} {self.offset}').urn}>"

    def close(self) -> None:
        self.block.close()

    def get(self, name: str) -> str:
        """The value of a field, the first if there are several; empty if there is none."""
        return next(iter(self.fields.get(name.lower(), ())), "")


@dataclass
class ForeignRecords:
    """The records of one file. They can be read once."""

    source: UnpackedBytes
    name: str
    #: called with the number of bytes between records
    count: Callable[[int], None]
    #: the first few places of damage, as sentences
    damage: list[str] = field(default_factory=list)
    damaged: int = 0
    #: the number of lines with which a record begins
    begun: int = 0
    found: int = 0
    _is_lost: bool = False

    def __iter__(self) -> Iterator[ForeignRecord]:
        while self._find_next_line():
            offset = self.source.offset
            line = self._read_line(LONGEST_LINE)
            if record := self._record_at_line(line, offset):
                self.found, self._is_lost = self.found + 1, False
                yield record
            elif not self._is_lost:
                self._is_lost = True
                self._note_damage(offset, "what is there is no record")

    def _find_next_line(self) -> bool:
        """Go to the next line. Return False if only padding is left."""
        while True:
            if gap := self.source.gap:
                self._note_damage(gap.offset, gap.why)
                self.source.go_on()
                self._is_lost = True
            elif self.source.is_at_member:
                self.count(LEAST_OF_A_LINE)
                self.source.go_on()
            elif self.source.is_at_end:
                return False
            else:
                start = self.source.peek(PIECE_BYTES)
                padding = len(start) - len(start.lstrip(PADDING))
                # an empty line takes as long as any other; zeros are skipped at once
                lines = start.count(b"\n", 0, padding)
                self.count(LEAST_OF_A_LINE * lines)
                if padding:
                    self.source.read(padding)
                if padding < len(start):
                    return True

    def _read_line(self, most: int) -> bytes:
        """The next line, even if it continues in the next member."""
        line = self.source.line(most)
        while line[-1:] != b"\n" and len(line) < most and self._continue_in_next_member():
            line += self.source.line(most - len(line))
        self.count(max(0, LEAST_OF_A_LINE - len(line)))
        return line

    def _record_at_line(self, line: bytes, offset: int) -> ForeignRecord | None:
        """The record that begins with a line. None if none does, or if nothing else is known about
        it.
        """
        found = VERSION_IN_A_LINE.search(line)
        if found and (found.start() == 0 or FIELD.match(self.source.peek(64))):
            if found.start() and not self._is_lost:
                self._note_damage(offset, f"{found.start():,} bytes are no part of a record")
            return self._warc_record(offset + found.start())
        return self._arc_record(line, offset)

    def _warc_record(self, offset: int) -> ForeignRecord | None:
        self.begun += 1
        fields = self._read_fields()
        if fields is None:
            self._is_lost = True
            self._note_damage(offset, "the header of a record does not end")
            return None
        length = LENGTH.fullmatch(fields.get("content-length", [""])[0])
        if length is None:
            self._is_lost = True
            self._note_damage(offset, "a record does not state its length")
            return None
        kind = fields.get("warc-type", [""])[0].lower()
        record = ForeignRecord(kind, fields, offset, new_spool(), name=self.name)
        return self._read_block(record, int(length[1]))

    def _read_fields(self) -> dict[str, list[str]] | None:
        #: each field with its name and the lines of its value
        values: list[tuple[str, list[str]]] = []
        size = 0
        while line := self._read_line(MOST_HEADER):
            size += len(line)
            if size > MOST_HEADER:
                return None
            # our output has no bare CR, which some programs treat as a line end
            text = _decoded_line(line).rstrip("\r\n").replace("\r", " ")
            if not text:
                return _fields_by_name(values)
            if text[0] in " \t" and values:  # the value continues
                values[-1][1].append(text.strip())
                continue
            name, mark, value = text.partition(":")
            if mark:
                values.append((name.strip().lower(), [value.strip()]))
        return None if self.source.is_at_end or self.source.gap else _fields_by_name(values)

    def _arc_record(self, line: bytes, offset: int) -> ForeignRecord | None:
        words = _decoded_line(line).split()
        if len(words) < 4 or not words[-1].isdecimal() or not ARC_URL.match(words[0]):
            return None
        # a URL may contain spaces, and so may a content type
        at = next((n for n in range(2, len(words) - 1) if _is_arc_date(words, n)), None)
        if at is None and words[0].startswith("filedesc:"):
            at = 2
        if at is None:
            return None
        url = " ".join(words[: at - 1])
        kind = words[at + 1] if at + 1 < len(words) - 1 else ""
        said = {
            "warc-target-uri": url,
            "warc-ip-address": words[at - 1],
            "warc-date": words[at],
            "content-type": kind,
        }
        is_web = url[:5].lower() in ("http:", "https")
        record_kind = "response" if is_web else "resource"
        if url.lower().startswith("filedesc:"):
            record_kind = "warcinfo"
        fields = {name: [value] for name, value in said.items()}
        record = ForeignRecord(
            record_kind, fields, offset, new_spool(), is_arc=True, name=self.name
        )
        return self._read_block(record, int(words[-1][:20]))

    def _read_block(self, record: ForeignRecord, length: int) -> ForeignRecord:
        try:
            self._take_record(record, length)
        except BaseException:
            record.close()
            raise
        return record

    def _take_record(self, record: ForeignRecord, length: int) -> None:
        digest = StatedDigest(record.get("warc-block-digest"))
        left = length
        while left:
            if piece := self.source.read(left):
                left -= len(piece)
                record.size += len(piece)
                digest.update(piece)
                record.is_too_large = record.is_too_large or record.size > MOST_RECORD
                if not record.is_too_large:
                    record.block.write(piece)
            elif not self._continue_in_next_member():
                break
        record.has_stated_digest = digest.is_as_stated and not left
        if left or not self._has_valid_end(record):
            self._correct_block(record, left)

    def _continue_in_next_member(self) -> bool:
        """Whether the record continues in the next member."""
        if not self.source.is_at_member:
            return False
        self.source.go_on()
        return not VERSION.match(self.source.peek(32))

    def _has_valid_end(self, record: ForeignRecord) -> bool:
        """Whether the block ends where the record ends. The bytes after it then cannot belong to
        it.
        """
        start = self.source.peek(64).lstrip(PADDING)
        return record.is_arc or not start or start[:5].upper() == b"WARC/"

    def _correct_block(self, record: ForeignRecord, left: int) -> None:
        """Correct the block of a record. A block with a wrong length ends where another record
        begins.
        """
        if found := self._record_within_block(record):
            size, rest = found
            self._note_damage(record.offset, "the record is shorter than it states")
            self.source.put_back(_block_pieces(record.block, size, record.size), rest)
            # the receiver gets the spool only when all bytes are read
            record.block = _spooled_block(record.block, size)
            record.size = size
        elif left:
            gap = self.source.gap
            record.is_cut_off, record.is_spoilt = True, bool(gap and not gap.is_cut_off)
            if not gap:
                why = "the file is cut off" if self.source.is_at_end else "the record is too short"
                self._note_damage(record.offset, why)

    def _record_within_block(self, record: ForeignRecord) -> tuple[int, int] | None:
        """The place where another record begins within a block, and the number of bytes from there
        on.
        """
        if record.is_too_large or record.is_arc:
            return None
        begin, size, behind = 0, record.size, self.source.peek(SEAM_BYTES)
        while begin < size:
            record.block.seek(begin)
            window = record.block.read(PIECE_BYTES)
            is_last = begin + len(window) == size
            found = NEXT_RECORD.search(window + (behind if is_last else b""))
            if found and begin + found.start() < size:
                return begin + found.start(), size - begin - found.start()
            # the next window includes the seam, too
            begin += len(window) if is_last else len(window) - SEAM_BYTES
        return None

    def _note_damage(self, offset: int, why: str) -> None:
        if len(self.damage) < MOST_DAMAGE:
            self.damage.append(f"at byte {offset:,} of {self.name}: {why}")
        self.damaged += 1


class StatedDigest:
    """Compares the digest of the bytes with the stated digest, if possible."""

    def __init__(self, stated: str) -> None:
        name, _, self._value = stated.partition(":")
        algorithm = ALGORITHMS.get(name.strip().lower()) if self._value else None
        # the digest only shows whether a file is damaged
        self._digest = hashlib.new(algorithm, usedforsecurity=False) if algorithm else None

    def update(self, piece: bytes) -> None:
        if self._digest:
            self._digest.update(piece)

    @property
    def is_as_stated(self) -> bool:
        if self._digest is None:
            return True
        return self._digest.hexdigest() in digest_spellings(self._value)


class Digests:
    """The digests of bytes. Other records may refer to the bytes by any of them."""

    def __init__(self) -> None:
        # revisit records compare payloads by digest; nothing is authenticated
        self._digests = [make(usedforsecurity=False) for make in CALCULATED.values()]

    def update(self, piece: bytes) -> None:
        for digest in self._digests:
            digest.update(piece)

    @property
    def digits(self) -> set[str]:
        return {digest.hexdigest() for digest in self._digests}


def digest_spellings(value: str) -> set[str]:
    """A digest in hexadecimal digits, for each possible encoding of the text: base16, base32 or
    base64, in any case and with any padding.
    """
    text, found = value.strip().rstrip("="), set[str]()
    with suppress(ValueError):
        found.add(bytes.fromhex(text).hex())
    with suppress(binascii.Error, ValueError):
        padded = text.upper() + "=" * (-len(text) % 8)
        found.add(base64.b32decode(padded).hex())
    with suppress(binascii.Error, ValueError):
        padded = text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4)
        found.add(base64.b64decode(padded, validate=True).hex())
    return {one for one in found if len(one) in DIGEST_DIGITS}


def _fields_by_name(values: Iterable[tuple[str, list[str]]]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for name, lines in values:
        fields.setdefault(name, []).append(" ".join(filter(None, lines)))
    return fields


def _block_pieces(block: IO[bytes], begin: int, end: int) -> Iterator[bytes]:
    with block:
        while begin < end:
            block.seek(begin)
            piece = block.read(min(PIECE_BYTES, end - begin))
            begin += len(piece)
            yield piece


def _spooled_block(block: IO[bytes], size: int) -> IO[bytes]:
    copy = new_spool()
    block.seek(0)
    while size and (piece := block.read(min(PIECE_BYTES, size))):
        size -= copy.write(piece)
    return copy


def _decoded_line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _is_arc_date(words: list[str], n: int) -> bool:
    before = words[n - 1]
    is_address = before == "-" or before.replace(".", "").isdecimal() or ":" in before
    return is_address and bool(ARC_DATE.fullmatch(words[n]))
