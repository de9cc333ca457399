"""Feeds in RSS, RDF and Atom. Reads their links: the pages and enclosures of entries, and the links
in the HTML of entries. For these and for JSON feeds, it also reads only the pages of entries, or
the data of each entry.
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
    LinkNotes,
    one_line,
)
from crawling.web.documents.json_feed import BadFeed
from crawling.web.documents.markup import (
    FEED_ROOTS,
    XmlBases,
    all_elements,
    attribute_text,
    leaf_text,
    name_of,
    read_markup,
    text_of,
)
from crawling.web.feed_entries import (
    FeedEntry,
    entry_texts,
    links_of_element,
    page_url_of,
    permanent_link,
    plain_text,
    stated_changes,
    xml_entries,
)
from crawling.web.links import Links

#: Atom's relations of `link` elements that lead to documents (RFC 4287, section 4.2.7.2, and RFC
#: 5005)
RELATIONS = frozenset(
    {
        *("", "alternate", "self", "related", "enclosure", "via", "current"),
        *("next", "previous", "prev", "first", "last", "prev-archive", "next-archive"),
    }
)
#: a prefix that does not change the meaning of a relation (RFC 4287, section 4.2.7.2)
IANA = "http://www.iana.org/assignments/relation/"
#: bytes that may precede the text of a document
BLANK_START = b"\xef\xbb\xbf \t\r\n"
START_BYTES = 1024


def read(source: DocumentSource) -> Document:
    """Read a feed, whether valid or not. RSS has the addresses of pages in texts, Atom in
    attributes, and many feeds mix the two.
    """
    document, charset, unread = read_markup(source)
    bases = XmlBases(document, source.url)
    links = Links(source.url, charset="UTF-8", base=bases.base)
    title = author = description = language = ""
    for element in all_elements(document):
        name = name_of(element)
        for link in (_link_of(element, name), *links_of_element(element, name, source.reading)):
            if link and links.unread is None:
                links.add(bases.whole(element, link))
        if name == "title":
            title = title or one_line(plain_text(element))
        elif name in ("author", "managingeditor", "creator"):
            author = author or one_line(text_of(element), 200)
        elif name in ("description", "subtitle"):
            description = description or one_line(text_of(element))
        elif name == "language":
            language = language or one_line(text_of(element), 35)
    text, unread = document.text[:MOST_TEXT].replace("\0", ""), unread or links.left_out
    metadata = DocumentMetadata(author, description, language)
    site = f"{canonical_address(source.url).origin}/"
    modified = stated_changes(document, bases, links, site=site)
    return Document(
        *(title, charset, links.found, text, metadata),
        unread=unread,
        notes=LinkNotes(links.bad(), modified),
    )


def _link_of(element: turbohtml.Element, name: str) -> str:
    """The target of an element; "" if the target is no document. RSS has the target in the text of
    `link`.
    """
    if name == "enclosure":
        return attribute_text(element, "url")
    if name == "guid":
        return permanent_link(element)
    if name == "content":  # the content is elsewhere (RFC 4287, section 4.1.3.2)
        return attribute_text(element, "src")
    if name != "link":
        return ""
    href, relation = attribute_text(element, "href"), attribute_text(element, "rel").lower()
    if href:
        return href if relation.removeprefix(IANA) in RELATIONS else ""
    return leaf_text(element).strip()


def entry_urls(source: DocumentSource) -> list[str]:
    """The addresses of the pages of a feed's entries, each once, in order, for any kind of feed. An
    entry that names no page is left out. Raises BadFeed.
    """
    if _is_json(source):
        return json_feed.json_entry_urls(source)
    document = _parse_feed(source)
    bases = XmlBases(document, source.url)
    links = Links(source.url, charset="UTF-8", base=bases.base)
    for page in filter(None, map(page_url_of, entry_texts(document, bases))):
        links.add(page)
    return [address.url for address in links.found]


def entry_data(source: DocumentSource) -> tuple[str, Iterator[FeedEntry]]:
    """The kind of a feed (rss, rdf, atom or json), and the data of each entry. Raises BadFeed."""
    if _is_json(source):
        return "json", json_feed.entry_data(source)
    document = _parse_feed(source)
    root = next(name for name in map(name_of, all_elements(document)) if name in FEED_ROOTS)
    bases = XmlBases(document, source.url)
    links = Links(source.url, charset="UTF-8", base=bases.base)
    return FEED_ROOTS[root], xml_entries(document, bases, links)


def _is_json(source: DocumentSource) -> bool:
    start = source.body.start(START_BYTES).lstrip(BLANK_START)
    return source.content_type.endswith("json") or start.startswith((b"{", b"["))


def _parse_feed(source: DocumentSource) -> turbohtml.Document:
    """Raises BadFeed."""
    document = read_markup(source).document
    names = map(name_of, all_elements(document))
    if next((name for name in names if name not in ("html", "head", "body")), "") not in FEED_ROOTS:
        raise BadFeed("the document is neither RSS nor Atom nor a JSON Feed")
    return document
