"""WARC 1.1 records from the bytes of an exchange. Pure, except that the spooled payload is read.

The blocks of requests and responses are the original bytes: no library parses headers and writes
them again (docs/decisions/0013).
"""

from __future__ import annotations

import hashlib
from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import TypeAlias
from uuid import UUID, uuid4, uuid5

from zlib_ng import zlib_ng

from crawling.web.document_stream import NO_DOCUMENT, DocumentStream

#: a higher level takes more time than the smaller file is worth
GZIP_LEVEL = 4
#: zlib's number for the gzip format
GZIP = 31
PIECE_BYTES = 256 * 1024
END = b"\r\n\r\n"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

Fields: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Payload:
    content: DocumentStream
    digest: str
    #: the digest of the head and the payload together
    block_digest: str
    sha256: bytes

    @property
    def size(self) -> int:
        return len(self.content)


@dataclass(frozen=True)
class Capture:
    """The statements about an exchange in the headers of its records, in lines that are formed
    once.
    """

    url: str
    began_at: datetime
    seconds: float
    address: str
    depth: int | None

    @cached_property
    def target(self) -> str:
        return f"WARC-Date: {_date(self.began_at)}\r\nWARC-Target-URI: {self.url}\r\n"

    @cached_property
    def target_and_server(self) -> str:
        server = f"WARC-IP-Address: {self.address}\r\n" if self.address else ""
        return f"{self.target}{server}"


@dataclass(frozen=True, slots=True)
class Original:
    """The record to which a revisit refers."""

    record_id: str
    url: str
    began_at: datetime


@dataclass(frozen=True, slots=True)
class WarcRecord:
    header: bytes
    #: the beginning of the block
    start: bytes = b""
    #: the rest of the block
    tail: DocumentStream | None = None


def measure_payload(head: bytes, content: DocumentStream, sha256: bytes) -> Payload:
    """Read a payload once for the digests of its record."""
    block = hashlib.sha1(head, usedforsecurity=False)
    payload = hashlib.sha1(usedforsecurity=False)
    for piece in content.pieces(size=PIECE_BYTES):
        block.update(piece)
        payload.update(piece)
    return Payload(
        content, _labelled_digest(payload.digest()), _labelled_digest(block.digest()), sha256
    )


#: the version of UUIDs whose bits are defined by their maker alone (RFC 9562, 5.8)
OWN_VERSION = 8
#: the bits of a record's id that say its place in the file
OFFSET_BITS = 48


def new_namespace() -> UUID:
    """A random namespace. Its last bits are 0, to be replaced by offsets."""
    drawn = uuid4().int >> OFFSET_BITS << OFFSET_BITS
    return UUID(int=drawn & ~(15 << 76) | OWN_VERSION << 76)


def record_id(file: UUID, offset: int) -> str:
    """The id of the record that begins at `offset`.

    The id need not be stored, and no other committed record gets the same id. In files whose
    namespace is of another kind, made by imports and the first crawls, the id is a hash. Pages
    refer to a record by its place, and records refer to it by this id.
    """
    begin = _begin_of_ids(file)
    return f"{begin}{offset:012x}>" if begin else f"<urn:uuid:{uuid5(file, str(offset))}>"


@lru_cache(maxsize=64)
def _begin_of_ids(file: UUID) -> str:
    is_for_offsets = file.version == OWN_VERSION and not file.node
    return f"<urn:uuid:{str(file)[: -OFFSET_BITS // 4]}" if is_for_offsets else ""


def start_of_fetch(fetched_at: datetime, seconds: float) -> datetime:
    """The time when a fetch began, exactly as in all its records."""
    return fetched_at - timedelta(seconds=seconds)


def warcinfo_record(
    identity: str, *, at: datetime, file_name: str, facts: Mapping[str, str]
) -> WarcRecord:
    lines = f"WARC-Date: {_date(at)}\r\nWARC-Filename: {file_name}\r\n"
    block = "".join(f"{name}: {value}\r\n" for name, value in facts.items()).encode()
    return _plain_record("warcinfo", identity, lines, "application/warc-fields", block)


def response_record(
    identity: str, capture: Capture, head: bytes, payload: Payload, *, is_cut_short: bool = False
) -> WarcRecord:
    truncated = "WARC-Truncated: unspecified\r\n" if is_cut_short else ""
    header = _header(
        "response",
        identity,
        f"{capture.target_and_server}WARC-Payload-Digest: {payload.digest}\r\n{truncated}",
        "application/http; msgtype=response",
        len(head) + payload.size,
        payload.block_digest,
    )
    return WarcRecord(header, head, payload.content)


def resource_record(
    identity: str, capture: Capture, content_type: str, payload: Payload
) -> WarcRecord:
    """The record of a document that came by a protocol other than HTTP: only the document."""
    header = _header(
        "resource",
        identity,
        f"{capture.target_and_server}WARC-Payload-Digest: {payload.digest}\r\n",
        content_type,
        payload.size,
        payload.block_digest,
    )
    return WarcRecord(header, tail=payload.content)


def revisit_record(
    identity: str,
    capture: Capture,
    head: bytes,
    *,
    profile: str,
    digest: str | None,
    original: Original | None,
    said: Fields = (),
) -> WarcRecord:
    """The record of a payload that the archive already has, or of which the server says that it has
    not changed. The record has only the head and the place of the payload.

    said: the statement of a foreign record about that place, if any.
    """
    lines = f"{capture.target_and_server}WARC-Profile: {profile}\r\n"
    if digest:
        lines += f"WARC-Payload-Digest: {digest}\r\n"
    where = revisit_fields(original) if original else said
    lines += "".join(f"{name}: {value}\r\n" for name, value in where)
    return _plain_record("revisit", identity, lines, "application/http; msgtype=response", head)


def revisit_fields(original: Original) -> Fields:
    """The fields of a revisit that say which record has its payload."""
    return (
        ("WARC-Refers-To", original.record_id),
        ("WARC-Refers-To-Target-URI", original.url),
        ("WARC-Refers-To-Date", _date(original.began_at)),
    )


def known_reference(record_id: str, url: str, at: datetime | None) -> Fields:
    """The fields of `revisit_fields`, as far as their values are known."""
    fields: Fields = (("WARC-Refers-To", record_id),) if record_id else ()
    fields += (("WARC-Refers-To-Target-URI", url),) if url else ()
    return (*fields, ("WARC-Refers-To-Date", _date(at))) if at else fields


def request_record(identity: str, capture: Capture, sent: bytes, *, answer: str) -> WarcRecord:
    lines = f"{capture.target_and_server}WARC-Concurrent-To: {answer}\r\n"
    return _plain_record("request", identity, lines, "application/http; msgtype=request", sent)


def metadata_record(
    identity: str, capture: Capture, *, answer: str, outlinks: Iterable[str]
) -> WarcRecord:
    """The record of the document's links, and of facts about the fetch that are not in the
    exchange. These records together are the link graph.
    """
    lines = f"{capture.target}WARC-Concurrent-To: {answer}\r\n"
    depth = "" if capture.depth is None else f"linksFromSeed: {capture.depth}\r\n"
    block = f"fetchTimeMs: {round(1000 * capture.seconds)}\r\n{depth}"
    if links := "\r\noutlink: ".join(outlinks):
        block += f"outlink: {links}\r\n"
    return _plain_record("metadata", identity, lines, "application/warc-fields", block.encode())


def gzip_member(record: WarcRecord) -> Iterator[bytes]:
    """The record as a separate gzip member, so that it can be read from its offset."""
    tail = record.tail or NO_DOCUMENT
    if len(tail) < PIECE_BYTES:  # nearly always so; one call costs less than three
        block = (record.header, record.start, tail.read(), END)
        yield zlib_ng.compress(b"".join(block), GZIP_LEVEL, GZIP)
        return
    press = zlib_ng.compressobj(GZIP_LEVEL, zlib_ng.DEFLATED, GZIP)
    yield press.compress(record.header + record.start)
    for piece in tail.pieces(size=PIECE_BYTES):
        yield press.compress(piece)
    yield press.compress(END) + press.flush()


def _plain_record(
    kind: str, identity: str, lines: str, content_type: str, block: bytes
) -> WarcRecord:
    digest = _labelled_digest(hashlib.sha1(block, usedforsecurity=False).digest())
    return WarcRecord(_header(kind, identity, lines, content_type, len(block), digest), block)


def _header(
    kind: str, identity: str, lines: str, content_type: str, length: int, digest: str
) -> bytes:
    """The header of a record. lines: further fields, each with its line end."""
    return (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {identity}\r\n{lines}"
        f"WARC-Block-Digest: {digest}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def _date(at: datetime) -> str:
    return f"{at.astimezone(UTC).isoformat(timespec='microseconds')[: -len('+00:00')]}Z"


def _labelled_digest(digest: bytes) -> str:
    return f"sha1:{b32encode(digest).decode()}"
