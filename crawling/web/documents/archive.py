"""Documents that are compressed with gzip without a content coding, like sitemaps."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace

from crawling.web.content.media_types import ATOM, HTML, RSS, START_BYTES, TEXT, XML, document_type
from crawling.web.document_stream import GZIP_MAGIC, DocumentStream, new_spool
from crawling.web.documents import html, sitemap, text, xml
from crawling.web.documents.base import Document, DocumentSource, Reader, TruncationReason

TYPES = ("application/gzip", "application/x-gzip")
CHUNK_BYTES = 64 * 1024
#: the compressed bytes that are read at a time
INPUT_BYTES = 16 * 1024
#: the most layers of compression; some servers compress a compressed document
MOST_LAYERS = 2
READERS: dict[str, Reader] = {
    XML: xml.read, "text/xml": xml.read, RSS: xml.read, ATOM: xml.read, TEXT: text.read
}  # fmt: skip


def read(source: DocumentSource) -> Document:
    """Read a compressed document: a sitemap, a feed, a list of addresses, or a page if the server
    states that type. A document that is broken, or larger than a sitemap may be, is read as far as
    possible.
    """
    document, unread = source.body, None
    with ExitStack() as spools:
        for _ in range(MOST_LAYERS):
            if document.start(len(GZIP_MAGIC)) != GZIP_MAGIC:
                break
            unpacked = UnpackedDocument(document.pieces(size=INPUT_BYTES), sitemap.MOST_BYTES)
            document = _spooled_document(unpacked)
            spools.callback(document.close)
            unread = unread or unpacked.unread
        return _read_document(source, document, unread)


def _read_document(
    source: DocumentSource, document: DocumentStream, unread: TruncationReason | None
) -> Document:
    kind = document_type("", document.start(START_BYTES))
    is_page = kind == HTML and source.content_type in html.TYPES
    reader = html.read if is_page else READERS.get(kind)
    if reader is None or (kind == TEXT and not text.lists_addresses(document)):
        return Document(unread=unread or TruncationReason.TYPE)
    charset = source.charset if is_page else None
    found = reader(replace(source, body=document, content_type=kind, charset=charset))
    return replace(found, unread=unread or found.unread)


def _spooled_document(pieces: Iterable[bytes]) -> DocumentStream:
    spool, size = new_spool(), 0
    for piece in pieces:
        size += spool.write(piece)
    return DocumentStream(spool, size)


class UnpackedDocument:
    """Up to `most` bytes of a compressed document, in parts of at most CHUNK_BYTES.

    unread: the reason why the document is incomplete, once all parts were taken.
    """

    def __init__(self, pieces: Iterable[bytes], most: int) -> None:
        self.unread: TruncationReason | None = None
        self._pieces, self._left = pieces, most

    def __iter__(self) -> Iterator[bytes]:
        machine = zlib.decompressobj(wbits=31)
        for part in self._pieces:
            packed = part
            while packed:
                if machine.eof:  # another member may follow (RFC 1952, section 2.2)
                    if not GZIP_MAGIC.startswith(packed[:3]):
                        return
                    machine = zlib.decompressobj(wbits=31)
                if not self._left:
                    self.unread = TruncationReason.SIZE
                    return
                try:
                    unpacked = machine.decompress(packed, min(self._left, CHUNK_BYTES))
                except zlib.error:
                    self.unread = TruncationReason.BROKEN
                    return
                packed = machine.unused_data if machine.eof else machine.unconsumed_tail
                self._left -= len(unpacked)
                if unpacked:
                    yield unpacked
        if not machine.eof:
            self.unread = TruncationReason.BROKEN
