"""Documents that come packed with gzip although no content coding says so, as sitemaps do."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from crawling.documents import sitemap, text
from crawling.documents.base import Document, Source
from crawling.documents.markup import read_root

TYPES = ("application/gzip", "application/x-gzip")
MAGIC = b"\x1f\x8b\x08"
CHUNK_BYTES = 64 * 1024
#: of these, the packed bytes
INPUT_BYTES = 16 * 1024


def read(source: Source) -> Document:
    """Unpack and read a sitemap by parts; what is larger than one may be, or broken, as far as it goes."""
    chunks = unpack(source.body, sitemap.MOST_BYTES)
    head = next(chunks, b"")
    unpacked = replace(source, body=head, content_type="text/xml", charset=None)
    if head.lstrip()[:1] == b"<":
        if read_root(unpacked) not in sitemap.ROOTS:
            return Document()
        return sitemap.read_chunks(unpacked, chain([head], chunks))
    if source.url.endswith(".txt.gz"):
        parts = islice(chain([head], chunks), text.MOST_BYTES // CHUNK_BYTES)
        return text.read(replace(unpacked, body=b"".join(parts)))
    return Document()


def unpack(body: bytes, most: int) -> Iterator[bytes]:
    """Up to `most` bytes of what is packed, in parts of CHUNK_BYTES at the most."""
    if not body.startswith(MAGIC):
        return
    machine = zlib.decompressobj(wbits=31)
    for at in range(0, len(body), INPUT_BYTES):
        packed = body[at : at + INPUT_BYTES]
        while packed and most > 0:
            try:
                part = machine.decompress(packed, min(most, CHUNK_BYTES))
            except zlib.error:
                return
            packed = machine.unconsumed_tail
            most -= len(part)
            if part:
                yield part
