"""Which module reads which document, by its type and, where that says nothing, by its first bytes.

Another kind of document is a module with TYPES and `read`, and its line in MODULES.
"""

from __future__ import annotations

from crawling.documents import archive, css, feed, html, media, pdf, sitemap, text, xml
from crawling.documents.base import Document, Reader, Source

MODULES = (
    html,
    feed,
    sitemap,
    xml,
    archive,
    css,
    pdf,
    media,
    text,
)
READERS: dict[str, Reader] = {content_type: module.read for module in MODULES for content_type in module.TYPES}
FAMILIES: dict[str, Reader] = {"image": media.read, "audio": media.read, "video": media.read}


def reader_of(content_type: str) -> Reader | None:
    """The module for a type; None: documents of that type are kept and not read."""
    return READERS.get(content_type) or FAMILIES.get(content_type.partition("/")[0])


def read_document(source: Source) -> Document:
    """Return what a document says; nothing at all if no module knows its type."""
    reader = reader_of(source.content_type)
    return reader(source) if reader and source.body else Document()
