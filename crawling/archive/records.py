"""WARC 1.1 records from the bytes of an exchange. Pure, but for reading the spooled payload.

The blocks of requests and responses are the bytes themselves: no library that parses headers and
writes them again is in between (docs/decisions/0013).
"""

from __future__ import annotations

import hashlib
from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from uuid import UUID, uuid5

from zlib_ng import zlib_ng

from crawling.web.document_stream import NO_DOCUMENT, DocumentStream

#: more than level 4 costs more time than it saves room
GZIP_LEVEL = 4
#: zlib's word for the gzip format
GZIP = 31
PIECE_BYTES = 256 * 1024
END = b"\r\n\r\n"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

Fields: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Payload:
    """A payload, measured."""

    content: DocumentStream
    digest: str
    #: of the head and the payload together
    block_digest: str
    sha256: bytes

    @property
    def size(self) -> int:
        return len(self.content)


@dataclass(frozen=True, slots=True)
class Capture:
    """What is said of an exchange in the headers of its records."""

    url: str
    began_at: datetime
    seconds: float
    address: str
    depth: int | None


@dataclass(frozen=True, slots=True)
class Original:
    """The record that a revisit refers to."""

    record_id: str
    url: str
    began_at: datetime


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record's header and block."""

    header: bytes
    #: the beginning of the block
    start: bytes = b""
    #: the rest of the block
    tail: DocumentStream | None = None


def measure(head: bytes, content: DocumentStream, sha256: bytes) -> Payload:
    """Read a payload once for the digests that its record has."""
    block = hashlib.sha1(head, usedforsecurity=False)
    payload = hashlib.sha1(usedforsecurity=False)
    for piece in content.pieces(size=PIECE_BYTES):
        block.update(piece)
        payload.update(piece)
    return Payload(content, _labelled(payload.digest()), _labelled(block.digest()), sha256)


def record_id(file: UUID, offset: int) -> str:
    """The id of the record that begins there.

    It need not be kept anywhere, and no other committed record ever has it.
    """
    return f"<urn:uuid:{uuid5(file, str(offset))}>"


def began(fetched_at: datetime, seconds: float) -> datetime:
    """When a fetch began, exactly as every record of it says."""
    return fetched_at - timedelta(seconds=seconds)


def warcinfo(
    identity: str, *, at: datetime, file_name: str, facts: Mapping[str, str]
) -> WarcRecord:
    fields: Fields = (("WARC-Filename", file_name),)
    return _plain(
        "warcinfo", identity, at, fields, "application/warc-fields", _fields(facts.items())
    )


def response(
    identity: str, capture: Capture, head: bytes, payload: Payload, *, is_cut_short: bool = False
) -> WarcRecord:
    fields: Fields = (*_of(capture), ("WARC-Payload-Digest", payload.digest))
    if is_cut_short:
        fields += (("WARC-Truncated", "unspecified"),)
    header = _header(
        "response",
        identity,
        capture.began_at,
        fields,
        "application/http; msgtype=response",
        len(head) + payload.size,
        payload.block_digest,
    )
    return WarcRecord(header, head, payload.content)


def resource(identity: str, capture: Capture, content_type: str, payload: Payload) -> WarcRecord:
    """A document that came by another protocol than HTTP: the document alone."""
    fields = (*_of(capture), ("WARC-Payload-Digest", payload.digest))
    header = _header(
        "resource",
        identity,
        capture.began_at,
        fields,
        content_type,
        payload.size,
        payload.block_digest,
    )
    return WarcRecord(header, tail=payload.content)


def revisit(
    identity: str,
    capture: Capture,
    head: bytes,
    *,
    profile: str,
    digest: str | None,
    original: Original | None,
) -> WarcRecord:
    """A payload that is in the archive already, or that the server says has not changed: the head
    alone, and where the payload is.
    """
    fields = (*_of(capture), ("WARC-Profile", profile))
    if digest:
        fields += (("WARC-Payload-Digest", digest),)
    if original:
        fields += reference(original)
    return _plain(
        "revisit", identity, capture.began_at, fields, "application/http; msgtype=response", head
    )


def reference(original: Original) -> Fields:
    """Where a revisit says that its payload is."""
    return (
        ("WARC-Refers-To", original.record_id),
        ("WARC-Refers-To-Target-URI", original.url),
        ("WARC-Refers-To-Date", _date(original.began_at)),
    )


def request(identity: str, capture: Capture, sent: bytes, *, answer: str) -> WarcRecord:
    fields = (*_of(capture), ("WARC-Concurrent-To", answer))
    return _plain(
        "request", identity, capture.began_at, fields, "application/http; msgtype=request", sent
    )


def metadata(
    identity: str, capture: Capture, *, answer: str, outlinks: Iterable[str]
) -> WarcRecord:
    """What the crawl knew of the fetch that the exchange does not say, and where the document
    leads: all of them are the link graph.
    """
    fields = (("WARC-Target-URI", capture.url), ("WARC-Concurrent-To", answer))
    facts = [("fetchTimeMs", str(round(1000 * capture.seconds)))]
    facts += [] if capture.depth is None else [("linksFromSeed", str(capture.depth))]
    facts += [("outlink", url) for url in outlinks]
    return _plain(
        "metadata", identity, capture.began_at, fields, "application/warc-fields", _fields(facts)
    )


def packed(record: WarcRecord) -> Iterator[bytes]:
    """The record as a gzip member of its own, so that it can be read from its offset."""
    tail = record.tail or NO_DOCUMENT
    if len(tail) < PIECE_BYTES:  # as good as always; one call costs less than three
        block = (record.header, record.start, tail.read(), END)
        yield zlib_ng.compress(b"".join(block), GZIP_LEVEL, GZIP)
        return
    press = zlib_ng.compressobj(GZIP_LEVEL, zlib_ng.DEFLATED, GZIP)
    yield press.compress(record.header + record.start)
    for piece in tail.pieces(size=PIECE_BYTES):
        yield press.compress(piece)
    yield press.compress(END) + press.flush()


def _of(capture: Capture) -> Fields:
    fields: Fields = (("WARC-Target-URI", capture.url),)
    return (*fields, ("WARC-IP-Address", capture.address)) if capture.address else fields


def _plain(
    kind: str, identity: str, at: datetime, fields: Fields, content_type: str, block: bytes
) -> WarcRecord:
    digest = _labelled(hashlib.sha1(block, usedforsecurity=False).digest())
    return WarcRecord(_header(kind, identity, at, fields, content_type, len(block), digest), block)


def _header(
    kind: str,
    identity: str,
    at: datetime,
    fields: Fields,
    content_type: str,
    length: int,
    digest: str,
) -> bytes:
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: {identity}",
        f"WARC-Date: {_date(at)}",
    ]
    lines += [f"{name}: {value}" for name, value in fields]
    lines += [
        f"WARC-Block-Digest: {digest}",
        f"Content-Type: {content_type}",
        f"Content-Length: {length}",
        "",
        "",
    ]
    return "\r\n".join(lines).encode()


def _fields(facts: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in facts).encode()


def _date(at: datetime) -> str:
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _labelled(digest: bytes) -> str:
    return f"sha1:{b32encode(digest).decode()}"
