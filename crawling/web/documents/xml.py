"""XML: a feed, a sitemap or a page, by its root element, whatever its type says. Any other XML
leads nowhere.
"""

from __future__ import annotations

from dataclasses import replace

from crawling.web.content.script_signs import ScriptSign
from crawling.web.documents import feed, html, sitemap
from crawling.web.documents.base import SITEMAP_ROOTS, Document, DocumentSource
from crawling.web.documents.charsets import decode
from crawling.web.documents.markup import FEED_ROOTS, read_root

TYPES = (
    *("text/xml", "application/xml", "application/x-xml"),
    *("application/rss+xml", "application/atom+xml", "application/rdf+xml", "image/svg+xml"),
)
XHTML = "http://www.w3.org/1999/xhtml"
SVG = "http://www.w3.org/2000/svg"
HEAD_BYTES = 2000


def read(source: DocumentSource) -> Document:
    """Give the document to the module for its root element."""
    root = read_root(source)
    if root in FEED_ROOTS:
        return feed.read(source)
    if root in SITEMAP_ROOTS:
        return replace(sitemap.read(source), sitemap_root=root)
    beginning, charset = decode(source.body.start(HEAD_BYTES), source.charset)
    if XHTML in beginning or "<html" in beginning.lower():
        return html.read(source)
    if SVG in beginning:  # only an SVG drawing needs no browser, whatever its scripts do
        return replace(html.read(source), script_sign=ScriptSign.NONE)
    return Document(charset=charset)
