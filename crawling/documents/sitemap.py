"""Sitemaps and their indexes (sitemaps.org 0.9): every `loc`, and the other languages of each page."""

from __future__ import annotations

from crawling.documents.base import Document, Source
from crawling.documents.markup import attribute, elements, name_of, read_markup
from crawling.rules.links import Links

#: no type is their own: `xml` finds them by their root
TYPES = ()
ROOTS = frozenset({"urlset", "sitemapindex"})


def read(source: Source) -> Document:
    """Read a sitemap of any quality."""
    document, charset = read_markup(source)
    links = Links(source.url, charset="UTF-8")
    for element in elements(document):
        if element.tag.lower() == "loc":  # one with a prefix names an image or a video
            links.add(element.text)
        elif name_of(element) == "link" and (href := attribute(element, "href")):
            links.add(href)
    return Document(charset=charset, links=links.found)
