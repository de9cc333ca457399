"""Feeds: RSS, RDF and Atom. Their entries with their pages and enclosures; and the pages of the
entries alone, of these and of JSON Feeds.
"""

from __future__ import annotations

from collections.abc import Iterator

import turbohtml

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
from crawling.web.links import Links

TYPES = ("application/rss+xml", "application/atom+xml", "application/rdf+xml")
ROOTS = frozenset({"rss", "rdf", "feed"})
#: of Atom's `link` elements, those that lead to documents (RFC 4287, section 4.2.7.2, and RFC 5005)
RELATIONS = frozenset(
    {"", "alternate", "self", "related", "enclosure", "via", "next", "previous", "first", "last"}
)
#: those that lead to the page of their entry
PAGE_RELATIONS = frozenset({"", "alternate"})
ENTRIES = frozenset({"item", "entry"})
#: of these a link in an entry is not the entry's own: the feed that it was taken from, an image
ASIDE = frozenset({"source", "image", "textinput", "channel"})
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
    return Document(title, charset, links.found, text, metadata, unread=unread)


def _add_link(links: Links, href: str, relation: str, text: str) -> None:
    if href and relation.lower() in RELATIONS:
        links.add(href)
    elif not href and text.strip():
        links.add(text)


def entries(source: DocumentSource) -> list[str]:
    """The addresses of the pages of its entries, in its order, each once; of any kind of feed. An
    entry that names no page is left out. Raises BadFeed.
    """
    start = source.body.start(START_BYTES).lstrip(BLANK_START)
    if source.content_type.endswith("json") or start.startswith((b"{", b"[")):
        return json_feed.entries(source)
    document = read_markup(source).document
    names = map(name_of, elements(document))
    if next((name for name in names if name not in ("html", "head", "body")), "") not in ROOTS:
        raise BadFeed("the document is neither RSS nor Atom nor a JSON Feed")
    links = _links(document, source.url)
    for page in _pages(document):
        links.add(page)
    return [address.url for address in links.found]


def _pages(document: turbohtml.Document) -> Iterator[str]:
    """What each entry gives as its page: the first link to it, or else its permanent address."""
    is_entry, page, permanent = False, "", ""
    for element in elements(document):
        name = name_of(element)
        if name in ENTRIES:
            if page or permanent:
                yield page or permanent
            is_entry, page, permanent = True, "", ""
        elif is_entry and name == "link" and not page:
            page = _page_of(element)
        elif is_entry and name == "guid" and attribute(element, "isPermaLink") != "false":
            text = leaf_text(element).strip()
            permanent = permanent or (text if text.startswith("http") else "")
    if page or permanent:
        yield page or permanent


def _page_of(link: turbohtml.Element) -> str:
    parent = link.parent
    if isinstance(parent, turbohtml.Element) and name_of(parent) in ASIDE:
        return ""
    href = attribute(link, "href")
    if href:
        return href if attribute(link, "rel").lower() in PAGE_RELATIONS else ""
    return leaf_text(link).strip()


def _links(document: turbohtml.Document, url: str) -> Links:
    roots = (element for element in elements(document) if name_of(element) in ROOTS)
    base = next((value for root in roots if (value := attribute(root, "xml:base"))), "")
    return Links(url, charset="UTF-8", base=base)
