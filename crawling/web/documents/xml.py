"""XML of no stated kind: a feed or a sitemap, by its root; anything else leads nowhere."""

from __future__ import annotations

from dataclasses import replace

from crawling.web.documents import feed, html, sitemap
from crawling.web.documents.base import Document, DocumentSource
from crawling.web.documents.charsets import decode
from crawling.web.documents.markup import read_root

TYPES = ("text/xml", "application/xml")


def read(source: DocumentSource) -> Document:
    """Hand the document to the module that its root names."""
    root = read_root(source)
    if root in feed.ROOTS:
        return feed.read(source)
    if root in sitemap.ROOTS:
        return replace(sitemap.read(source), is_index=root == sitemap.INDEX)
    beginning, charset = decode(source.body.start(2000), source.charset)
    if "http://www.w3.org/1999/xhtml" in beginning:
        return html.read(source)
    return Document(charset=charset)
