"""Records in several parts: the first part has its own type, and the others are of the type
`continuation` (WARC 1.1, section 7).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from crawling.archive.unpacker import MOST_RECORD
from crawling.uses.imports.foreign_records import ForeignRecord
from crawling.web.document_stream import PIECE_BYTES, new_spool

CONTINUATION = "continuation"
#: the most records that wait for their other parts
MOST_WAITING = 100


class MissingSegment(Exception):
    """A part has no record."""


@dataclass
class Segments:
    """Joins the parts of records, even from several files."""

    #: each incomplete record by its id, with the number of its latest part
    _waiting: OrderedDict[str, tuple[ForeignRecord, int]] = field(default_factory=OrderedDict)

    def join_segments(self, record: ForeignRecord) -> ForeignRecord | None:
        """The complete record; None if further parts follow. Raises MissingSegment."""
        if record.kind == CONTINUATION:
            return self._store_part(record)
        identity = record.get("WARC-Record-ID")
        is_full = len(self._waiting) >= MOST_WAITING or identity in self._waiting
        if record.get("WARC-Segment-Number") != "1" or is_full:
            return record
        # the receiver closes its own block, but not the one that is kept here
        kept = replace(record, block=record.block)
        record.block = new_spool()
        self._waiting[identity] = (kept, 1)
        return None

    def incomplete(self) -> Iterator[ForeignRecord]:
        """The available parts of records that are still incomplete."""
        while self._waiting:
            _, (record, _) = self._waiting.popitem(last=False)
            record.is_cut_off = True
            yield record

    def _store_part(self, part: ForeignRecord) -> ForeignRecord | None:
        origin = part.get("WARC-Segment-Origin-ID")
        record, latest = self._waiting.get(origin, (None, 0))
        if record is None or part.get("WARC-Segment-Number") != str(latest + 1):
            raise MissingSegment("are parts of records that are not there")
        record.block.seek(record.size)
        part.block.seek(0)
        while piece := part.block.read(PIECE_BYTES):
            record.size += record.block.write(piece)
        record.is_cut_off |= part.is_cut_off
        record.is_spoilt |= part.is_spoilt
        record.is_too_large |= part.is_too_large or record.size > MOST_RECORD
        if part.get("WARC-Segment-Total-Length"):
            del self._waiting[origin]
            return record
        self._waiting[origin] = (record, latest + 1)
        return None
