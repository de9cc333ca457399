"""The memory that a work process shares with its reading process. Each slot has a document on its
way there, and the read document on its way back; messages over a pair of sockets name the slots.
"""

from __future__ import annotations

import json
import mmap
from struct import Struct
from zlib import crc32

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource, ReadingRules
from crawling.web.protocols import PROTOCOLS, WEB_PORTS, default_port

#: the most documents that are under way, most of which wait for a fetch thread to take them. Only
#: what documents fill takes memory
SLOTS = 32
SLOT_BYTES = 512 * 1024
#: to the reading process: slot, bytes of the document's facts, bytes of the document
REQUEST = Struct("=3i")
#: from it: slot, and bytes of the read document
RESULT = Struct("=2i")
#: instead of a number of bytes: the document was not read; instead of a slot: the process is ready,
#: with `mark_of_protocols` for the number
NOT_READ = READY = -1


def mark_of_protocols() -> int:
    """A number that two processes share if they know the same protocols, of which packages may add
    some: links of others are left out.
    """
    known = sorted((scheme, default_port(scheme)) for scheme in (*WEB_PORTS, *PROTOCOLS.parts))
    return crc32(repr(known).encode()) >> 1


def put_document(
    memory: mmap.mmap, slot: int, source: DocumentSource, *, is_listed: bool
) -> tuple[int, int] | None:
    """Put a document into its slot. Return the bytes of what is said about it, and its own; None if
    the slot is too small. is_listed: as in `TextFacts`.
    """
    rules = source.reading
    facts = json.dumps(
        [
            *(is_listed, source.url, source.content_type, source.charset),
            *(rules.obey_nofollow, rules.requisites, dict(rules.extract), rules.robots_token),
        ]
    ).encode()
    body = source.body.read()
    begin, head, whole = slot * SLOT_BYTES, len(facts), len(facts) + len(body)
    if whole > SLOT_BYTES:
        return None
    memory[begin : begin + head] = facts
    memory[begin + head : begin + whole] = body
    return head, len(body)


def read_source(memory: mmap.mmap, slot: int, head: int, size: int) -> tuple[DocumentSource, bool]:
    """The document that `put_document` has put there, and whether it is listed."""
    begin = slot * SLOT_BYTES
    body = DocumentStream.of(memory[begin + head : begin + head + size])
    is_listed, url, content_type, charset, *rules = json.loads(memory[begin : begin + head])
    return DocumentSource(body, url, content_type, charset, ReadingRules(*rules)), is_listed


def put_result(memory: mmap.mmap, slot: int, packed: bytes) -> int:
    """Put a read document into its slot. Return its bytes; NOT_READ if the slot is too small."""
    if len(packed) > SLOT_BYTES:
        return NOT_READ
    begin = slot * SLOT_BYTES
    memory[begin : begin + len(packed)] = packed
    return len(packed)


def read_result(memory: mmap.mmap, slot: int, size: int) -> bytes:
    """The read document that `put_result` has put there."""
    return memory[slot * SLOT_BYTES : slot * SLOT_BYTES + min(size, SLOT_BYTES)]
