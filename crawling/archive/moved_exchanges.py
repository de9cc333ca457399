"""Exchanges whose payload is in a record that is removed. They are written again at the end of
their file. The first exchange with a payload gets the payload; the others refer to that exchange.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from crawling.archive.reader import open_record_of
from crawling.archive.records import (
    Original,
    WarcRecord,
    gzip_member,
    measure_payload,
    record_id,
    revisit_fields,
)
from crawling.archive.selection import exchange_of
from crawling.archive.unpacker import MOST_AROUND, MOST_RECORD
from crawling.base.errors import ArchiveTrouble
from crawling.models import ArchiveFile, Page

REFERENCE = ("WARC-Profile", "WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date")
Fields = list[tuple[str, str]]


@dataclass(frozen=True)
class MovedPage:
    """A page that refers to a payload, and the place of the payload's record."""

    #: only its place in the archive counts
    page: Page
    url: str
    #: an unsaved page; only its place in the archive and its digest count
    payload: Page

    @property
    def digest(self) -> bytes:
        return bytes(self.payload.payload_sha256 or b"")

    def is_of(self, page: Page) -> bool:
        """Whether the record of that page is at this place. Both are in one file."""
        return self.page.archive_offset == page.archive_offset


@dataclass
class MovedExchanges:
    row: ArchiveFile
    moved: Sequence[MovedPage]
    #: by the earlier place of an answer: its new place, its length, and whether it is a revisit;
    #: complete once all pieces have been read
    places: dict[int, tuple[int, int, bool]] = field(default_factory=dict)
    _holders: dict[bytes, Original] = field(default_factory=dict)

    def old_ranges(self) -> list[tuple[int, int]]:
        """The places at which the exchanges were before. Raises ArchiveTrouble."""
        begins = [(one.page.archive_offset or 0, one.page) for one in self.moved]
        return [(begin, begin + sum(map(len, exchange_of(page)))) for begin, page in begins]

    def pieces(self, offset: int) -> Iterator[bytes]:
        """The records of the exchanges, the first of which begins at `offset`. Raises
        ArchiveTrouble.
        """
        for one in self.moved:
            answer = record_id(self.row.namespace, offset)
            for record in ArchiveIterator(
                BytesIO(b"".join(exchange_of(one.page))), no_record_parse=True
            ):
                begin = offset
                for piece in self._packed_record(one, record, answer, offset):
                    offset += len(piece)
                    yield piece
                if record.rec_type == "revisit":
                    is_revisit = self._holders[one.digest].record_id != answer
                    self.places[one.page.archive_offset or 0] = (begin, offset - begin, is_revisit)

    def _packed_record(
        self, one: MovedPage, record: Any, answer: str, offset: int
    ) -> Iterator[bytes]:
        said: Fields = record.rec_headers.headers
        block = record.content_stream().read()
        if record.rec_type != "revisit":
            identity = record_id(self.row.namespace, offset)
            given = {"WARC-Record-ID": identity, "WARC-Concurrent-To": answer}
            yield from gzip_member(WarcRecord(_header(said, given), block))
        elif holder := self._holders.get(one.digest):
            given = {"WARC-Record-ID": answer, **dict(revisit_fields(holder))}
            yield from gzip_member(WarcRecord(_header(said, given), block))
        else:
            facts = dict(said)
            at = datetime.fromisoformat(facts["WARC-Date"]).astimezone(UTC)
            self._holders[one.digest] = Original(answer, facts["WARC-Target-URI"], at)
            yield from _with_payload(one, said, block, answer)


def _with_payload(one: MovedPage, said: Fields, head: bytes, answer: str) -> Iterator[bytes]:
    content = open_record_of(one.payload, MOST_RECORD + MOST_AROUND).payload
    with closing(content):
        if content.sha256() != one.digest:
            raise ArchiveTrouble(
                f"The payload of {one.url} is not in the record that should have it."
            )
        payload = measure_payload(head, content, one.digest)
        given = {
            "WARC-Type": "response",
            "WARC-Record-ID": answer,
            "WARC-Block-Digest": payload.block_digest,
            "Content-Length": str(len(head) + payload.size),
        }
        kept = [(name, value) for name, value in said if name not in REFERENCE]
        yield from gzip_member(WarcRecord(_header(kept, given), head, payload.content))


def _header(said: Fields, given: Mapping[str, str]) -> bytes:
    """A record's header, with some fields changed."""
    lines = [f"{name}: {given.get(name, value)}" for name, value in said]
    return "\r\n".join(["WARC/1.1", *lines, "", ""]).encode()
