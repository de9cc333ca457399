"""Feeds: RSS, RDF and Atom. Their entries with their pages and enclosures."""

from __future__ import annotations

from crawling.web.documents.base import (
    MOST_TEXT,
    Document,
    DocumentMetadata,
    DocumentSource,
    one_line,
)
from crawling.web.documents.markup import (
    attribute,
    elements,
    leaf_text,
    name_of,
    read_markup,
    text_of,
)
from crawling.web.links import Links

TYPES = ("application/rss+xml", "application/atom+xml", "application/rdf+xml")
ROOTS = frozenset({"rss", "rdf", "feed"})
#: of Atom's `link` elements, those that lead to documents (RFC 4287, section 4.2.7.2, and RFC 5005)
RELATIONS = frozenset(
    {"", "alternate", "self", "related", "enclosure", "via", "next", "previous", "first", "last"}
)


def read(source: DocumentSource) -> Document:
    """Read a feed of any quality; RSS names its pages in text, Atom in attributes, and many mix the
    two.
    """
    document, charset, unread = read_markup(source)
    roots = (element for element in elements(document) if name_of(element) in ROOTS)
    base = next((value for root in roots if (value := attribute(root, "xml:base"))), "")
    links = Links(source.url, charset="UTF-8", base=base)
    title = author = description = language = ""
    for element in elements(document):
        name = name_of(element)
        if name == "link":
            _add_link(
                links, attribute(element, "href"), attribute(element, "rel"), leaf_text(element)
            )
        elif name == "enclosure":
            links.add(attribute(element, "url"))
        elif name == "guid" and attribute(element, "isPermaLink") != "false":
            if (text := leaf_text(element)).strip().startswith("http"):
                links.add(text)
        elif name == "title":
            title = title or one_line(text_of(element))
        elif name in ("author", "managingeditor", "creator"):
            author = author or one_line(text_of(element), 200)
        elif name in ("description", "subtitle"):
            description = description or one_line(text_of(element))
        elif name == "language":
            language = language or one_line(text_of(element), 35)
    text, unread = document.text[:MOST_TEXT].replace("\0", ""), unread or links.unread
    metadata = DocumentMetadata(author, description, language)
    return Document(title, charset, links.found, text, metadata, unread=unread)


def _add_link(links: Links, href: str, relation: str, text: str) -> None:
    if href and relation.lower() in RELATIONS:
        links.add(href)
    elif not href and text.strip():
        links.add(text)
