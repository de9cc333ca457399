"""The answers in WARC, ARC and WACZ files of strangers. A part of the translator program: a file
that makes it exceed its limits ends only that program.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from zipfile import BadZipFile, ZipFile

from crawling.archive.unpacker import MOST_RECORD
from crawling.uses.imports.foreign_answers import (
    ForeignAnswer,
    SkippedRecord,
    is_note,
    read_description,
)
from crawling.uses.imports.foreign_records import (
    Digests,
    ForeignRecord,
    ForeignRecords,
    StatedDigest,
)
from crawling.uses.imports.http_blocks import LongHead, read_block
from crawling.uses.imports.segments import MissingSegment, Segments
from crawling.uses.imports.unpacked_bytes import (
    PIECE_BYTES,
    START_BYTES,
    UNPACKABLE,
    UnpackedBytes,
    other_packing,
)
from crawling.web.document_stream import DocumentStream

#: the largest request that is kept in memory until its answer has been read
MOST_REQUEST = 256 * 1024
#: the most requests without an answer, and answers without a request, that wait for their
#: counterpart
MOST_WAITING = 16
#: the largest ratio of a file's unpacked size to its own size, and the size that any file may
#: unpack to; without these a file could be read without end
MOST_RATIO, FREE_BYTES = 100, 1024**3
ZIP = b"PK\x03\x04"
#: the suffixes of archive files; Heritrix uses the last two while it writes, and Common Crawl the
#: two before them
ARCHIVES = (
    *(".warc.gz", ".warc.zst", ".warc", ".arc.gz", ".arc"),
    *(".wet.gz", ".wat.gz", ".gz.open", ".warc.open"),
)
#: the deepest nesting: a package of packages
MOST_DEPTH = 2
ANSWERS = ("response", "revisit", "resource")
#: errors of damaged files; RuntimeError means an encrypted ZIP file, or a compression that zipfile
#: does not know
DAMAGE = (
    *(BadZipFile, EOFError, OSError, ValueError, KeyError, RuntimeError, OverflowError),
    *UNPACKABLE,
)
OTHER_BLOCK = "have another block digest than they state"
OTHER_PAYLOAD = "have another payload digest than they state"
CUT_OFF = "are kept as far as the file has them"
EMPTY = "are empty: no head, and no document"
NO_ANSWER = "are requests without an answer"
CREDENTIALS = "had a user name or a password in their URL, which the copy leaves out"
BEHIND = "are behind damage:"
AHEAD = "state a time that is still to come"


class Unreadable(Exception):
    """The rest of the file cannot be read."""


@dataclass
class ForeignFile:
    """A single file. `answers` can be read once. After the last file, `incomplete` yields the
    records without all their parts.
    """

    path: Path
    #: the number of records that were left out, by reason
    left_out: dict[str, int] = field(default_factory=dict)
    #: the number of records with a fault, by fault
    remarks: dict[str, int] = field(default_factory=dict)
    #: records in several parts, which may continue in the next file
    segments: Segments = field(default_factory=Segments)
    #: the folder for packages that are unpacked meanwhile
    folder: Path | None = None
    _bytes: int = 0
    _file: IO[bytes] | None = None

    @property
    def position(self) -> int:
        return self._file.tell() if self._file and not self._file.closed else 0

    def answers(self) -> Iterator[ForeignAnswer]:
        """The answers in a file. Raises Unreadable if its format is unknown, or if it unpacks to
        too many bytes; the answers before that are valid.
        """
        with self._damage_with_file_name():
            for name, stream in self._archive_streams():
                records = ForeignRecords(UnpackedBytes(stream, self.count), name, self.count)
                yield from _AnswersOfRecords(self, records).all()
                if records.damaged and not records.found and stream is self._file:
                    raise Unreadable(_unreadable_reason(records))
                self._note_damage(records)

    def incomplete(self) -> Iterator[ForeignAnswer]:
        """The available parts of records whose other parts are in no file. Called even if this file
        could not be read to its end.
        """
        for record in self.segments.incomplete():
            with closing(record):
                try:
                    with self._damage_with_file_name():
                        answer = self.read(record)
                except SkippedRecord as why:
                    self.leave_out(str(why))
                    continue
                except Unreadable as error:
                    self.leave_out(f"{BEHIND} {error}")
                    continue
            if answer:
                yield answer

    @contextmanager
    def _damage_with_file_name(self) -> Iterator[None]:
        try:
            yield
        except DAMAGE as error:
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise Unreadable(f"{self.path.name}: {said[0][:200]}") from error

    def read(self, record: ForeignRecord) -> ForeignAnswer | None:
        """The answer of a record; None if the record describes the file. Raises SkippedRecord."""
        if record.kind == "warcinfo":
            return None
        # wget's list of its own notes
        if record.kind == "metadata" and is_note(record):
            record.kind = "resource"
        _check_record(record)
        answer = read_description(record)
        try:
            has_stated_digest = _take_block(record, answer)
            self.count(max(0, answer.size - record.size))
        except BaseException:
            answer.payload.close()
            raise
        if record.is_cut_off:
            self.remark(CUT_OFF)
        elif not record.has_stated_digest:
            self.remark(OTHER_BLOCK)
        elif not has_stated_digest and answer.kind != "revisit":
            self.remark(OTHER_PAYLOAD)
        if record.kind == "response" and not record.size:
            self.remark(EMPTY)
        if answer.has_credentials:
            self.remark(CREDENTIALS)
        if answer.at.at > datetime.now(UTC):
            self.remark(AHEAD)
        return answer

    def _note_damage(self, records: ForeignRecords) -> None:
        for place in records.damage:
            self.leave_out(f"are behind damage {place}")
        if more := records.damaged - len(records.damage):
            self.leave_out(f"are behind damage at other places of {records.name}", more)

    def leave_out(self, reason: str, count: int = 1) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + count

    def remark(self, what: str) -> None:
        self.remarks[what] = self.remarks.get(what, 0) + 1

    def _archive_streams(self) -> Iterator[tuple[str, IO[bytes]]]:
        with self.path.open("rb") as file:
            self._file = file
            start = file.read(START_BYTES)
            file.seek(0)
            if packing := other_packing(start):
                raise Unreadable(f"{self.path.name}: it is packed by {packing}, which is not read")
            if start.startswith(ZIP) or self.path.suffix.lower() == ".wacz":
                has_archives = False
                for found in self._archives_in(file, printable(self.path.name), MOST_DEPTH):
                    has_archives = True
                    yield found
                if not has_archives:
                    raise Unreadable(f"{self.path.name}: the package has no WARC or ARC file")
            else:
                yield printable(self.path.name), file

    def count(self, size: int) -> None:
        self._bytes += size
        if self._bytes > FREE_BYTES + MOST_RATIO * self.path.stat().st_size:
            raise Unreadable(f"{self.path.name}: it unpacks to more than a hundred times its size")

    def _archives_in(
        self, file: IO[bytes], name: str, depth: int
    ) -> Iterator[tuple[str, IO[bytes]]]:
        """The archives in a package, and in its packages (multi-WACZ)."""
        with ZipFile(file) as package:
            for member in package.infolist():
                lowered = member.filename.lower()
                is_archive = lowered.endswith(ARCHIVES)
                if not is_archive and not (lowered.endswith(".wacz") and depth):
                    continue
                # several members may be made of the same bytes, and unpack to nothing
                self.count(member.compress_size)
                path = f"{name}: {printable(member.filename[-100:])}"
                with package.open(member) as stream:
                    if is_archive:
                        yield path, stream
                    else:
                        yield from self._archives_in_packed(stream, path, depth - 1)

    def _archives_in_packed(
        self, stream: IO[bytes], name: str, depth: int
    ) -> Iterator[tuple[str, IO[bytes]]]:
        """The archives in a package that is itself compressed. It is unpacked to a file first,
        since each step backwards would unpack it again from its beginning.
        """
        with TemporaryFile(dir=self.folder) as package:
            while piece := stream.read(PIECE_BYTES):
                self.count(len(piece))
                package.write(piece)
            yield from self._archives_in(package, name, depth)


def printable(text: str) -> str:
    """The text, with a question mark in place of each character that no page can show."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


@dataclass
class _AnswersOfRecords:
    """The answers in the records of one archive, with their requests.

    A request may come before its answer or after it.
    """

    file: ForeignFile
    records: ForeignRecords
    #: each request by its id, with its URL and the records to which it belongs
    _requests: OrderedDict[str, tuple[frozenset[str], str, bytes]] = field(
        default_factory=OrderedDict
    )
    _waiting: deque[ForeignAnswer] = field(default_factory=deque)

    def all(self) -> Iterator[ForeignAnswer]:
        damage: Exception | None = None
        try:
            try:
                yield from self._answers_before_damage()
            except (Unreadable, *DAMAGE) as error:
                damage = error
            while self._waiting:
                yield self._waiting.popleft()
        finally:  # reached even if the reader stops early
            for answer in self._waiting:
                answer.payload.close()
        if self._requests:
            self.file.leave_out(NO_ANSWER, len(self._requests))
        if damage:
            raise damage

    def _answers_before_damage(self) -> Iterator[ForeignAnswer]:
        for record in self.records:
            with closing(record):
                if record.kind == "request":
                    self._take_request(record)
                    continue
                answer = self._answer_of_record(record)
            if answer:
                self._waiting.append(answer)
            if len(self._waiting) > MOST_WAITING:
                yield self._waiting.popleft()

    def _take_request(self, record: ForeignRecord) -> None:
        identity, url = record.get("WARC-Record-ID"), record.get("WARC-Target-URI")
        of = frozenset(record.fields.get("warc-concurrent-to", ()))
        record.block.seek(0)
        block = record.block.read(MOST_REQUEST)
        for answer in reversed(self._waiting):
            if not answer.request and _is_request_of(answer, identity, of, url):
                answer.request = block
                return
        self._requests[identity or f"{record.offset}"] = (of, url, block)
        if len(self._requests) > MOST_WAITING:
            self._requests.popitem(last=False)
            self.file.leave_out(NO_ANSWER)

    def _answer_of_record(self, record: ForeignRecord) -> ForeignAnswer | None:
        try:
            whole = self.file.segments.join_segments(record)
            if whole is None:
                return None
            with closing(whole):
                answer = self.file.read(whole)
        except (SkippedRecord, MissingSegment) as why:
            self.file.leave_out(str(why))
            return None
        if answer:
            for identity, (of, url, block) in self._requests.items():
                if _is_request_of(answer, identity, of, url):
                    answer.request = block
                    del self._requests[identity]
                    break
        return answer


def _unreadable_reason(records: ForeignRecords) -> str:
    if records.begun:
        return f"{records.name}: no record can be read, {records.damage[0]}"
    return f"{records.name}: it is no WARC or ARC file"


def _is_request_of(answer: ForeignAnswer, identity: str, of: frozenset[str], url: str) -> bool:
    """Whether a request belongs to an answer. of: the records that the request names."""
    if of or answer.concurrent:
        return answer.stated_id in of or identity in answer.concurrent
    return url == answer.stated_url


def _check_record(record: ForeignRecord) -> None:
    if record.kind not in ANSWERS:
        known = record.kind in ("metadata", "conversion")
        raise SkippedRecord(
            f"are of the type {record.kind}" if known else "are of a type that is not known"
        )
    if record.is_too_large:
        raise SkippedRecord(f"are larger than {MOST_RECORD // 2**30} GiB")
    if record.is_spoilt:
        raise SkippedRecord("are damaged")


def _take_block(record: ForeignRecord, answer: ForeignAnswer) -> bool:
    """Read the block of a record into the answer. Return whether its payload has the stated digest.
    Raises SkippedRecord.
    """
    stated, found = StatedDigest(answer.digest), Digests()

    def update_digests(piece: bytes) -> None:
        stated.update(piece)
        found.update(piece)

    try:
        is_document = record.kind == "resource"
        block = read_block(
            record.block,
            record.size,
            update_digests,
            is_document=is_document,
            is_cut_off=answer.is_cut_short,
        )
    except LongHead as error:
        raise SkippedRecord("have a head that is too long") from error
    answer.payload, answer.size, answer.head = block.payload, block.size, block.head
    answer.status = block.status or 200
    # whatever the block contains, the answer has the payload of another record
    if record.kind == "revisit":
        answer.payload.close()
        answer.payload, answer.size = BytesIO(), 0
    answer.digests = frozenset(found.digits)
    if block.status is None and not is_document:
        _take_bare(answer)
    if not block.is_unwrapped:
        return stated.is_as_stated
    is_as_stated, stated, found = stated.is_as_stated, StatedDigest(answer.digest), Digests()
    for piece in DocumentStream(block.payload, block.size).pieces():
        update_digests(piece)
    answer.digests |= found.digits
    return is_as_stated or stated.is_as_stated


def _take_bare(answer: ForeignAnswer) -> None:
    """Read a block without a head into the answer: an answer by HTTP/0.9, or a revisit record
    without a head.
    """
    if answer.kind == "revisit":
        answer.status = 0
        return
    answer.kind = "resource"
    if answer.content_type.lower().startswith("application/http"):
        start = DocumentStream(answer.payload, answer.size).start(512).lstrip()
        answer.content_type = "text/html" if start.startswith(b"<") else "text/plain"
    if not answer.size:
        answer.content_type = ""
