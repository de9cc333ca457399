"""Feeds: RSS, RDF and Atom. Their entries with their pages and enclosures; and of these and of JSON
Feeds the pages of the entries alone, or what is said of each entry.
"""

from __future__ import annotations

from collections.abc import Iterator

import turbohtml

from crawling.web.addresses import canonical_address
from crawling.web.documents import json_feed
from crawling.web.documents.base import (
    MOST_TEXT,
    Document,
    DocumentMetadata,
    DocumentSource,
    one_line,
)
from crawling.web.documents.json_feed import BadFeed
from crawling.web.documents.markup import (
    attribute,
    elements,
    leaf_text,
    name_of,
    read_markup,
    text_of,
)
from crawling.web.feed_entries import (
    FeedEntry,
    page_of,
    stated_changes,
    written_entries,
    xml_entries,
)
from crawling.web.links import Links

TYPES = ("application/rss+xml", "application/atom+xml", "application/rdf+xml")
#: the kind of feed that the root of a document names
ROOTS = {"rss": "rss", "rdf": "rdf", "feed": "atom"}
#: of Atom's `link` elements, those that lead to documents (RFC 4287, section 4.2.7.2, and RFC 5005)
RELATIONS = frozenset(
    {"", "alternate", "self", "related", "enclosure", "via", "next", "previous", "first", "last"}
)
#: which a document may begin with before its text
BLANK_START = b"\xef\xbb\xbf \t\r\n"
START_BYTES = 1024


def read(source: DocumentSource) -> Document:
    """Read a feed of any quality; RSS names its pages in text, Atom in attributes, and many mix the
    two.
    """
    document, charset, unread = read_markup(source)
    links = _links(document, source.url)
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
    site = f"{canonical_address(source.url).origin}/"
    modified = stated_changes(document, links, site=site)
    return Document(title, charset, links.found, text, metadata, modified=modified, unread=unread)


def _add_link(links: Links, href: str, relation: str, text: str) -> None:
    if href and relation.lower() in RELATIONS:
        links.add(href)
    elif not href and text.strip():
        links.add(text)


def entries(source: DocumentSource) -> list[str]:
    """The addresses of the pages of its entries, in its order, each once; of any kind of feed. An
    entry that names no page is left out. Raises BadFeed.
    """
    if _is_json(source):
        return json_feed.entries(source)
    document = _feed_in(source)
    links = _links(document, source.url)
    for page in filter(None, map(page_of, written_entries(document))):
        links.add(page)
    return [address.url for address in links.found]


def entry_data(source: DocumentSource) -> tuple[str, Iterator[FeedEntry]]:
    """The kind of a feed (rss, rdf, atom or json), and what it says of each entry. Raises
    BadFeed.
    """
    if _is_json(source):
        return "json", json_feed.entry_data(source)
    document = _feed_in(source)
    root = next(name for name in map(name_of, elements(document)) if name in ROOTS)
    return ROOTS[root], xml_entries(document, _links(document, source.url))


def _is_json(source: DocumentSource) -> bool:
    start = source.body.start(START_BYTES).lstrip(BLANK_START)
    return source.content_type.endswith("json") or start.startswith((b"{", b"["))


def _feed_in(source: DocumentSource) -> turbohtml.Document:
    """Raises BadFeed."""
    document = read_markup(source).document
    names = map(name_of, elements(document))
    if next((name for name in names if name not in ("html", "head", "body")), "") not in ROOTS:
        raise BadFeed("the document is neither RSS nor Atom nor a JSON Feed")
    return document


def _links(document: turbohtml.Document, url: str) -> Links:
    roots = (element for element in elements(document) if name_of(element) in ROOTS)
    base = next((value for root in roots if (value := attribute(root, "xml:base"))), "")
    return Links(url, charset="UTF-8", base=base)
