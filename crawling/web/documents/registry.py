"""Which module reads which document, by its type and, where that says nothing, by its first bytes.

Another kind of document is a module with TYPES and `read`, and its line in MODULES.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from crawling.process.memory_limit import READER_TURN, give_back_free_memory, resident_bytes
from crawling.web.documents import archive, css, feed, html, pdf, sitemap, text, xml
from crawling.web.documents.base import Document, DocumentSource, Reader, TruncationReason
from crawling.web.packed_size import GZIP_MAGIC

logger = logging.getLogger(__name__)

MODULES = (
    html,
    feed,
    sitemap,
    xml,
    archive,
    css,
    pdf,
    text,
)
MEDIA_TYPES = ("application/ogg", "application/vnd.apple.mpegurl", "application/dash+xml")
#: a document whose reading took more memory leaves it to the system, which takes a millisecond
LARGE_BYTES = 8 * 1024 * 1024


def read_media(_source: DocumentSource) -> Document:
    """Images, sound and film lead nowhere: their type and size stand in every page's row."""
    return Document()


READERS: dict[str, Reader] = {
    content_type: module.read for module in MODULES for content_type in module.TYPES
} | dict.fromkeys(MEDIA_TYPES, read_media)
FAMILIES: dict[str, Reader] = dict.fromkeys(("image", "audio", "video"), read_media)


def reader_of(content_type: str) -> Reader | None:
    """The module for a type; None: documents of that type are kept and not read."""
    return READERS.get(content_type) or FAMILIES.get(content_type.partition("/")[0])


def read_document(source: DocumentSource) -> Document:
    """Return what a document says; nothing at all if no module knows its type.

    What is packed is known by its first bytes: servers name its type as they like.
    """
    reader = reader_of(source.content_type)
    if source.body.start(len(GZIP_MAGIC)) == GZIP_MAGIC:
        reader = archive.read
    if reader is None or not source.body:
        return Document()
    if reader is pdf.read:
        return reader(source)
    with READER_TURN:
        return _read_within_memory(reader, source)


def _read_within_memory(reader: Reader, source: DocumentSource) -> Document:
    before = resident_bytes()
    document = None
    # what it took is free only behind the `except`: before the log is written, which lets other
    # threads run, which need memory themselves
    with suppress(MemoryError):
        document = reader(source)
    if resident_bytes() - before > LARGE_BYTES:
        give_back_free_memory()  # else the next such document's comes on top
    if document is None:
        facts = {"url": source.url, "bytes": len(source.body)}
        logger.warning("a document was not read: it takes too much memory", extra=facts)
    return document or Document(unread=TruncationReason.MEMORY)
