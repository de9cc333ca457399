"""Documents that come packed with gzip although no content coding says so, as sitemaps do."""

from __future__ import annotations

import zlib
from dataclasses import replace

from crawling.documents import sitemap, text
from crawling.documents.base import Document, Source
from crawling.documents.markup import read_markup, root_of

TYPES = ("application/gzip", "application/x-gzip")
MAGIC = b"\x1f\x8b"
#: what a sitemap may have (sitemaps.org: 50 MB); a bomb holds more
MOST_BYTES = 50 * 1024 * 1024


def read(source: Source) -> Document:
    """Unpack and read a sitemap; what is larger than one may be, or broken, is read as far as it goes."""
    unpacked = replace(source, body=unpack(source.body), content_type="text/xml", charset=None)
    if not unpacked.body:
        return Document()
    if unpacked.body.lstrip()[:1] != b"<":
        return text.read(unpacked) if source.url.endswith(".txt.gz") else Document()
    document, charset = read_markup(replace(unpacked, body=unpacked.body[:4096]))
    return sitemap.read(unpacked) if root_of(document) in sitemap.ROOTS else Document(charset=charset)


def unpack(body: bytes) -> bytes:
    """Up to MOST_BYTES of what is packed."""
    if not body.startswith(MAGIC):
        return b""
    machine = zlib.decompressobj(wbits=31)
    try:
        return machine.decompress(body, MOST_BYTES)
    except zlib.error:
        return b""
