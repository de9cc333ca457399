"""Reads WARC and WACZ files that strangers wrote, record by record. Part of the translator program:
what is too much here ends that program, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataReader, DecompressingBufferedReader
from warcio.exceptions import ArchiveLoadFailed

from crawling.archive.records import PIECE_BYTES, Original
from crawling.archive.unpacker import MOST_HEAD
from crawling.orders.claims import MOST_DOCUMENT_BYTES
from crawling.web.addresses import Address, BadUrl, read_address
from crawling.web.document_stream import new_spool
from crawling.web.http_caching import read_head

#: of a request, which is kept in memory until its answer has been read
MOST_REQUEST = 256 * 1024
#: how much more than its own size a file may unpack to, so that none is read for ever
MOST_RATIO, FREE_BYTES = 100, 1024**3
#: before, there was no web
FIRST_DATE = datetime(1990, 1, 1, tzinfo=UTC)
NAMES = (".warc", ".warc.gz")
LONGEST_ID = 200
#: of a header; a longer one counts as several
LONGEST_LINE = 64 * 1024
#: bytes; an empty line takes as long to read as that many
LEAST_OF_A_LINE = 64
DIGESTS = ("sha1", "sha256", "sha512", "md5")
#: RuntimeError: a ZIP file that is encrypted, or packed in a way that zipfile does not know
DAMAGE = (
    *(ArchiveLoadFailed, BadZipFile, EOFError, OSError, ValueError, KeyError, zlib.error),
    *(RuntimeError, OverflowError),
)


class Unreadable(Exception):
    """The file cannot be read from here on."""


class SkippedRecord(Exception):
    """The record is no page; the others are read."""


@dataclass
class ForeignAnswer:
    """An answer as it is to be archived. Its receiver closes the payload."""

    kind: str
    record_id: str
    address: Address
    at: datetime
    server: str
    head: bytes
    payload: IO[bytes]
    size: int
    #: of a resource record
    content_type: str = ""
    is_cut_short: bool = False
    #: of a revisit record: what it refers to, and whether the server said so
    original: Original | None = None
    is_not_modified: bool = False
    #: of the payload, as the file states it
    digest: str = ""
    request: bytes = b""

    @property
    def fields(self) -> dict[str, str]:
        return read_head(self.head.decode("latin-1"))

    @property
    def status(self) -> int:
        """Raises SkippedRecord if the head is no answer of HTTP."""
        if self.kind == "resource":
            return 200
        words = self.head[:200].split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
            raise SkippedRecord("are no answers of HTTP")
        status = int(words[1][:4])
        if not 100 <= status <= 999:
            raise SkippedRecord("are no answers of HTTP")
        return status


@dataclass
class ForeignFile:
    """One file; `answers` are read once."""

    path: Path
    #: how many records were left out, by the reason
    left_out: dict[str, int] = field(default_factory=dict)
    _bytes: int = 0
    _waiting: tuple[str, str, bytes] = ("", "", b"")
    _file: IO[bytes] | None = None

    @property
    def position(self) -> int:
        """How many bytes of it are read."""
        return self._file.tell() if self._file and not self._file.closed else 0

    def answers(self) -> Iterator[ForeignAnswer]:
        """Raises Unreadable where the file cannot be read any more; what came before it counts."""
        try:
            for stream in self._streams():
                yield from self._answers_in(stream)
        except DAMAGE as error:
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise Unreadable(f"{self.path.name}: {said[0][:200]}") from error

    def _streams(self) -> Iterator[IO[bytes]]:
        with self.path.open("rb") as file:
            self._file = file
            if self.path.suffix != ".wacz":
                yield file
                return
            with ZipFile(file) as package:
                for name in package.namelist():
                    if name.startswith("archive/") and name.endswith(NAMES):
                        with package.open(name) as stream:
                            yield stream

    def _answers_in(self, stream: IO[bytes]) -> Iterator[ForeignAnswer]:
        records = ArchiveIterator(stream, no_record_parse=True)
        records.reader = _BoundedLines(records.fh, self._count)
        answer: ForeignAnswer | None = None
        for record in records:
            kind, said = record.rec_type, record.rec_headers
            if kind == "request":
                self._request(record, answer)
                continue
            if answer:
                yield answer
                answer = None
            if kind in ("response", "revisit", "resource"):
                answer = self._answer(record, said)
            self._drain(record)
        if answer:
            yield answer

    def _request(self, record: Any, answer: ForeignAnswer | None) -> None:
        """Requests come before their answers or behind them; those without one are left out."""
        said = record.rec_headers
        block = self._read(record, MOST_REQUEST)
        self._drain(record)
        of = said.get_header("WARC-Concurrent-To") or ""
        url = said.get_header("WARC-Target-URI") or ""
        if answer and of == answer.record_id:
            answer.request = block
        else:
            self._waiting = (said.get_header("WARC-Record-ID") or "", url, block)

    def _answer(self, record: Any, said: Any) -> ForeignAnswer | None:
        try:
            answer = _read_answer(record.rec_type, said)
            self._take_block(record, answer)
            _ = answer.status
        except SkippedRecord as why:
            self.left_out[str(why)] = self.left_out.get(str(why), 0) + 1
            return None
        identity, url, block = self._waiting
        if said.get_header("WARC-Concurrent-To") == identity or url == said.get_header(
            "WARC-Target-URI"
        ):
            answer.request = block
        self._waiting = ("", "", b"")
        return answer

    def _take_block(self, record: Any, answer: ForeignAnswer) -> None:
        """Head and payload, without the transfer coding. Raises SkippedRecord."""
        block = source = _Block(record)
        if answer.kind != "resource":
            answer.head = self._head(source)
            if answer.fields.get("transfer-encoding", "").lower() == "chunked":
                source = ChunkedDataReader(source, decomp_type=None)
        spool = new_spool()
        answer.payload = spool
        while piece := source.read(PIECE_BYTES):
            self._count(len(piece))
            answer.size += len(piece)
            if answer.size > MOST_DOCUMENT_BYTES:
                spool.close()
                raise SkippedRecord(f"are larger than {MOST_DOCUMENT_BYTES // 2**20} MiB")
            spool.write(piece)
        while piece := block.read(PIECE_BYTES):  # behind the end that a transfer coding has
            self._count(len(piece))
        if not block.is_as_stated:
            spool.close()
            raise SkippedRecord("do not have the digest that they state")

    def _head(self, source: Any) -> bytes:
        head = b""
        while line := source.readline():
            head += line
            if len(head) > MOST_HEAD:
                raise SkippedRecord("have a head that is too long")
            if not line.strip():
                break
        self._count(len(head))
        return head

    def _read(self, record: Any, most: int) -> bytes:
        block = bytes(record.raw_stream.read(most))
        self._count(len(block))
        return block

    def _drain(self, record: Any) -> None:
        while piece := record.raw_stream.read(PIECE_BYTES):
            self._count(len(piece))

    def _count(self, size: int) -> None:
        self._bytes += size
        if self._bytes > FREE_BYTES + MOST_RATIO * self.path.stat().st_size:
            raise Unreadable(f"{self.path.name}: it unpacks to more than a hundred times its size")


class _BoundedLines(DecompressingBufferedReader):  # type: ignore[misc]  # warcio has no types
    """What records are read from. A line takes time in proportion to the square of its length.

    count: is told the length of each line, also of those between the records, and no less than
    LEAST_OF_A_LINE.
    """

    def __init__(self, stream: IO[bytes], count: Callable[[int], None]) -> None:
        super().__init__(stream)
        self._count = count

    def readline(self, length: int | None = None) -> bytes:
        line = bytes(super().readline(length or LONGEST_LINE))
        self._count(max(len(line), LEAST_OF_A_LINE))
        return line


class _Block:
    """What is in a record, as it is read, with its digest."""

    def __init__(self, record: Any) -> None:
        self._stream = record.raw_stream
        stated = record.rec_headers.get_header("WARC-Block-Digest") or ""
        name, _, value = stated.strip().partition(":")
        self._stated = value.rstrip("=").upper()
        is_known = name.lower() in DIGESTS and value
        # says whether a file is damaged, not who wrote it
        self._digest = hashlib.new(name.lower(), usedforsecurity=False) if is_known else None

    def read(self, most: int) -> bytes:
        return self._noted(self._stream.read(most))

    def readline(self, most: int | None = None) -> bytes:
        return self._noted(self._stream.readline(most))

    def _noted(self, piece: bytes) -> bytes:
        if self._digest:
            self._digest.update(piece)
        return bytes(piece)

    @property
    def is_as_stated(self) -> bool:
        """Whether all that was read has the digest that the record states, if it states any."""
        if self._digest is None:
            return True
        found = self._digest.digest()
        written = (base64.b32encode(found).decode().rstrip("="), found.hex())
        return self._stated in {one.upper() for one in written}


def _read_answer(kind: str, said: Any) -> ForeignAnswer:
    """What a record's header says. Raises SkippedRecord."""
    answer = ForeignAnswer(
        kind,
        _identity(said.get_header("WARC-Record-ID")),
        _address(said.get_header("WARC-Target-URI")),
        _date(said.get_header("WARC-Date")),
        _server(said.get_header("WARC-IP-Address")),
        b"",
        new_spool(),
        0,
        content_type=(said.get_header("Content-Type") or "")[:LONGEST_ID],
        is_cut_short=bool(said.get_header("WARC-Truncated")),
        digest=said.get_header("WARC-Payload-Digest") or "",
    )
    if kind == "revisit":
        answer.is_not_modified = "server-not-modified" in (said.get_header("WARC-Profile") or "")
        answer.original = _original(said)
    return answer


def _original(said: Any) -> Original | None:
    url, date = (said.get_header(f"WARC-Refers-To-{name}") for name in ("Target-URI", "Date"))
    try:
        identity = _identity(said.get_header("WARC-Refers-To"))
        return Original(identity, _address(url).url, _date(date))
    except SkippedRecord:
        return None


def _identity(text: str | None) -> str:
    identity = text or ""
    is_one = identity.startswith("<urn:") and identity.endswith(">") and identity.isascii()
    if not is_one or not identity.isprintable() or len(identity) > LONGEST_ID:
        raise SkippedRecord("have no identity")
    return identity


def _address(text: str | None) -> Address:
    try:
        return read_address((text or "").strip("<>"))
    except BadUrl as error:
        raise SkippedRecord("are of addresses that cannot be crawled") from error


def _date(text: str | None) -> datetime:
    try:
        date = datetime.fromisoformat(text or "").astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise SkippedRecord("have no date") from error
    if not FIRST_DATE < date < datetime.now(UTC) + timedelta(days=1):
        raise SkippedRecord("have no date")
    return date


def _server(text: str | None) -> str:
    try:
        return str(ip_address(text or ""))
    except ValueError:
        return ""
