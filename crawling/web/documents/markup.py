"""The XML of feeds and sitemaps, read strictly first, then as tolerantly as browsers read HTML.

Entities are never expanded, so an entity bomb has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from html import escape
from itertools import islice

import turbohtml

from crawling.web.addresses import BadUrl, read_address
from crawling.web.document_stream import DocumentStream
from crawling.web.documents import tree
from crawling.web.documents.base import DocumentSource, TruncationReason
from crawling.web.documents.charsets import decoded_pieces

CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
#: HTML has an element of this name that never has content
LINK = re.compile(r"<(/?)link\b", re.IGNORECASE)
#: the most bytes of a document that are read, since its parser takes 40 bytes for each byte and
#: cannot be stopped
MOST_BYTES = 2 * 1024 * 1024
#: a document names its kind within this many bytes
HEAD_BYTES = 16 * 1024
#: the most nodes that are read for an element's text
MOST_NODES = 100
BASE = "xml:base"
#: the number of joined bases that are remembered; entries usually state the same bases
MOST_JOINED = 256
#: the kinds of feeds by the names of their roots
FEED_ROOTS = {"rss": "rss", "rdf": "rdf", "feed": "atom"}


def read_markup(source: DocumentSource) -> tree.ParsedTree:
    """Parse a document. A document that is not well-formed is read as HTML, for which any text is
    valid.
    """
    pieces, charset = decoded_pieces(source.body, MOST_BYTES, source.charset)
    unread = TruncationReason.SIZE if len(source.body) > MOST_BYTES else None
    text = CDATA.sub(lambda section: escape(section[1]), "".join(pieces).lstrip())
    try:
        return tree.ParsedTree(turbohtml.parse_xml(text), charset, unread)
    except turbohtml.HTMLParseError:
        body = LINK.sub(r"<\1xml:link", text).encode(errors="replace")
        parsed = tree.parse_html(DocumentStream.of(body), "utf-8")
        return tree.ParsedTree(parsed.document, charset, parsed.unread or unread)


def read_root(source: DocumentSource) -> str:
    """The name of the outermost element that HTML does not have. The text must be short."""
    beginning = DocumentStream.of(source.body.start(HEAD_BYTES))
    document = read_markup(replace(source, body=beginning)).document
    names = map(name_of, all_elements(document))
    return next((name for name in names if name not in ("html", "head", "body")), "")


def leaf_text(element: turbohtml.Element) -> str:
    """The text of an element without child elements; "" if it has any."""
    nodes = list(islice(element.descendants, MOST_NODES))
    if any(isinstance(node, turbohtml.Element) for node in nodes):
        return ""
    return "".join(map(_node_text, nodes))


def text_of(element: turbohtml.Element) -> str:
    """The text of an element, from only its first nodes, since nested elements repeat their
    text.
    """
    return "".join(map(_node_text, islice(element.descendants, MOST_NODES)))


def _node_text(node: turbohtml.Node) -> str:
    return node.data if isinstance(node, turbohtml.Text | turbohtml.CData) else ""


def all_elements(document: turbohtml.Document) -> Iterator[turbohtml.Element]:
    return (node for node in document.descendants if isinstance(node, turbohtml.Element))


def name_of(element: turbohtml.Element) -> str:
    """The element's name in lower case, without the prefix of its namespace."""
    return element.tag.rpartition(":")[2].lower()


def attribute_text(element: turbohtml.Element, name: str) -> str:
    """An attribute as written; "" if the element has none. (The parser gives attributes of words as
    lists.)
    """
    value = element.attrs.get(name) or ""
    return value if isinstance(value, str) else " ".join(value)


class XmlBases:
    """The bases of a feed at a URL. base: the root's base as written."""

    def __init__(self, document: turbohtml.Document, url: str) -> None:
        stated = [
            value for element in all_elements(document) if (value := attribute_text(element, BASE))
        ]
        root = next((each for each in all_elements(document) if name_of(each) in FEED_ROOTS), None)
        self.base = attribute_text(root, BASE) if root else ""
        self._start = _absolute_url(self.base, url)
        self._has_inner = len(stated) > bool(self.base)
        #: the known bases of elements that were looked up, and of the elements around them
        self._known: dict[turbohtml.Element, str] = {root: self._start} if root else {}

    def whole(self, element: turbohtml.Element, link: str) -> str:
        """A link in an element, made relative to the document's base."""
        if not self._has_inner or not link:
            return link
        base = self._base_of(element)
        return link if base == self._start else _absolute_url(link.strip(), base)

    def _base_of(self, element: turbohtml.Element) -> str:
        """The base of an element. Each element is looked at once, however deep elements are
        nested.
        """
        unknown: list[turbohtml.Element] = []
        node: object = element
        while isinstance(node, turbohtml.Element) and node not in self._known:
            unknown.append(node)
            node = node.parent
        base = self._known[node] if isinstance(node, turbohtml.Element) else self._start
        for each in reversed(unknown):
            stated = attribute_text(each, BASE)
            base = self._known[each] = _absolute_url(stated, base) if stated else base
        return base


@lru_cache(MOST_JOINED)
def _absolute_url(link: str, base: str) -> str:
    try:
        return read_address(link, base).url if link else base
    except BadUrl:
        return base
