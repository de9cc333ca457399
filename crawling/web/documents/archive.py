"""Documents that are compressed with gzip without a content coding, like sitemaps."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from crawling.web.document_stream import GZIP_MAGIC, MOST_UNPACKED, DocumentStream
from crawling.web.documents import sitemap, text
from crawling.web.documents.base import Document, DocumentSource, TruncationReason
from crawling.web.documents.markup import read_root

TYPES = ("application/gzip", "application/x-gzip")
CHUNK_BYTES = 64 * 1024
#: of these, the packed bytes
INPUT_BYTES = 16 * 1024


def read(source: DocumentSource) -> Document:
    """Unpack and read a sitemap by parts; what is larger than one may be, or broken, as far as it
    goes.
    """
    unpacked = UnpackedDocument(source.body, sitemap.MOST_BYTES)
    chunks = iter(unpacked)
    head = next(chunks, b"")
    first = DocumentStream.of(head)
    beginning = replace(source, body=first, content_type="text/xml", charset=None)
    if head.lstrip()[:1] == b"<":
        root = read_root(beginning)
        if root not in sitemap.ROOTS:
            return Document()
        document = sitemap.read_chunks(beginning, chain([head], chunks))
        document = replace(document, is_index=root == sitemap.INDEX)
    elif source.url.endswith(".txt.gz"):
        parts = islice(chain([head], chunks), MOST_UNPACKED // CHUNK_BYTES + 1)
        document = text.read(replace(beginning, body=DocumentStream.of(b"".join(parts))))
    else:
        return Document()
    return replace(document, unread=document.unread or unpacked.unread)


class UnpackedDocument:
    """Up to `most` bytes of what is packed, in parts of CHUNK_BYTES at the most.

    unread: why there is no more, once all parts were taken.
    """

    def __init__(self, body: DocumentStream, most: int) -> None:
        self.unread: TruncationReason | None = None
        self._body, self._left = body, most

    def __iter__(self) -> Iterator[bytes]:
        machine = zlib.decompressobj(wbits=31)
        for part in self._body.pieces(size=INPUT_BYTES):
            packed = part
            while packed:
                if machine.eof:  # another file may stand behind it (RFC 1952, section 2.2)
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
