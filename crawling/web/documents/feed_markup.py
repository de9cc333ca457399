"""Links in the HTML that feeds have of their entries: the contents and texts of Atom (RFC 4287,
sections 3.1 and 4.1.3), descriptions of RSS 2.0 and what its modules add, `content_html` of JSON
Feeds.
"""

from __future__ import annotations

from collections.abc import Iterator

import turbohtml
from turbohtml import TokenType

from crawling.web.documents.base import ReadingRules
from crawling.web.documents.html import NOT_VOUCHED
from crawling.web.documents.markup import attribute, leaf_text, name_of

ANCHORS = frozenset({"a", "area"})
ENTRIES = frozenset({"item", "entry"})
#: of RSS, where no attribute says which kind of text it is: HTML, as all readers take it
RSS_TEXTS = frozenset({"description", "encoded"})
#: those in which it says so; without it the texts of Atom are plain
TYPED_TEXTS = RSS_TEXTS | {"content", "summary", "title", "subtitle", "tagline", "rights"}
HTML_TYPES = frozenset({"html", "text/html"})


def links_within(element: turbohtml.Element, name: str, reading: ReadingRules) -> Iterator[str]:
    """Where an element of a feed leads to by markup: an anchor of XHTML that stands in the feed
    itself, or those of HTML that stands there as text.
    """
    if name in ANCHORS:
        yield from _followed(attribute(element, "href"), attribute(element, "rel"), reading)
    elif name in TYPED_TEXTS and _is_html(element, name):
        # all markup within it is escaped: text that has elements in it is XHTML
        yield from links_in_markup(leaf_text(element), reading)


def links_in_markup(markup: str, reading: ReadingRules) -> Iterator[str]:
    """The links of some HTML, whose tree is not built: that could be large."""
    if "<" not in markup:
        return
    for token in turbohtml.tokenize(markup):
        if token.type == TokenType.START_TAG and token.tag in ANCHORS:
            attributes = dict(token.attrs or ())
            yield from _followed(attributes.get("href"), attributes.get("rel"), reading)


def _followed(href: str | None, relations: str | None, reading: ReadingRules) -> Iterator[str]:
    if href and not (
        reading.obey_nofollow and not NOT_VOUCHED.isdisjoint((relations or "").lower().split())
    ):
        yield href


def _is_html(element: turbohtml.Element, name: str) -> bool:
    kind = attribute(element, "type").partition(";")[0].strip().lower()
    if kind:
        return kind in HTML_TYPES
    parent = element.parent
    return (
        name in RSS_TEXTS and isinstance(parent, turbohtml.Element) and name_of(parent) in ENTRIES
    )
