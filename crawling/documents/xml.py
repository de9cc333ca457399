"""XML of no stated kind: a feed or a sitemap, by its root; anything else leads nowhere."""

from __future__ import annotations

from crawling.documents import feed, html, sitemap
from crawling.documents.base import Document, Source
from crawling.documents.charsets import decode
from crawling.documents.markup import read_markup, root_of

TYPES = ("text/xml", "application/xml")


def read(source: Source) -> Document:
    """Hand the document to the module that its root names."""
    document, charset = read_markup(source)
    root = root_of(document)
    if root in feed.ROOTS:
        return feed.read(source)
    if root in sitemap.ROOTS:
        return sitemap.read(source)
    if "http://www.w3.org/1999/xhtml" in decode(source.body[:2000], source.charset)[0]:
        return html.read(source)
    return Document(charset=charset)
