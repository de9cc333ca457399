"""Feeds: RSS, RDF and Atom. Their entries, the pages they stand for, and what is enclosed."""

from __future__ import annotations

from crawling.documents.base import MOST_TEXT, Document, Source, one_line
from crawling.documents.markup import attribute, elements, name_of, read_markup
from crawling.rules.links import Links

TYPES = ("application/rss+xml", "application/atom+xml", "application/rdf+xml")
ROOTS = frozenset({"rss", "rdf", "feed"})
#: of Atom's `link` elements, those that lead to documents (RFC 4287, section 4.2.7.2, and RFC 5005)
RELATIONS = frozenset({"", "alternate", "self", "related", "enclosure", "via", "next", "previous", "first", "last"})


def read(source: Source) -> Document:
    """Read a feed of any quality; RSS names its pages in text, Atom in attributes, and many mix the two."""
    document, charset = read_markup(source)
    found = list(elements(document))
    base = next((value for element in found if name_of(element) in ROOTS and (value := attribute(element, "xml:base"))), "")
    links = Links(source.url, charset="UTF-8", base=base)
    title = author = description = language = ""
    for element in found:
        name = name_of(element)
        if name == "link":
            _add_link(links, attribute(element, "href"), attribute(element, "rel"), element.text)
        elif name == "enclosure":
            links.add(attribute(element, "url"))
        elif name == "guid" and attribute(element, "isPermaLink") != "false" and element.text.strip().startswith("http"):
            links.add(element.text)
        elif name == "title":
            title = title or one_line(element.text)
        elif name in ("author", "managingeditor", "creator"):
            author = author or one_line(element.text, 200)
        elif name in ("description", "subtitle"):
            description = description or one_line(element.text)
        elif name == "language":
            language = language or one_line(element.text, 35)
    return Document(title, charset, links.found, document.text[:MOST_TEXT].replace("\0", ""), author, description, language)


def _add_link(links: Links, href: str, relation: str, text: str) -> None:
    if href and relation.lower() in RELATIONS:
        links.add(href)
    elif not href and text.strip():
        links.add(text)
