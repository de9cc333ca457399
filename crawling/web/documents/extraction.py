"""Values of HTML pages by an operator's CSS selectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice

import turbohtml

from crawling.web.documents.css_selectors import SelectorTookTooLong, read_selector, select_elements
from crawling.web.documents.markup import attribute_text as attribute_of

#: attributes with one address
ADDRESSES = frozenset(
    {
        *("href", "src", "action", "formaction", "poster", "cite", "background", "longdesc"),
        "xlink:href",
    }
)
MOST_VALUES = 1000
MOST_VALUE_LENGTH = 10_000
#: the most nodes that are read for a value's text, since nested elements repeat their text
MOST_NODES = 2000
#: elements whose text is for programs: read only if a rule selects the element itself
UNSEEN = frozenset({"script", "style", "template"})


def extract(
    document: turbohtml.Document, rules: Mapping[str, str], whole: Callable[[str], str]
) -> list[tuple[str, str]]:
    """Return (name, value) of all matches: their text, or the attribute that the rule names; whole:
    a function that completes the address in an attribute.

    At most MOST_VALUES. A rule that would take too long on the document matches nothing.
    """
    found: list[tuple[str, str]] = []
    for name, rule in rules.items():
        selector, attribute = read_selector(rule)
        elements = list[turbohtml.Element]()
        with suppress(SelectorTookTooLong):
            elements = select_elements(document, selector)
        for element in elements[: MOST_VALUES - len(found)]:
            value = (
                attribute_of(element, attribute).strip() if attribute else _element_text(element)
            )
            if value and attribute in ADDRESSES:
                value = whole(value)
            if value:
                found.append((name, value[:MOST_VALUE_LENGTH].replace("\0", "")))
    return found


def _element_text(element: turbohtml.Element) -> str:
    parts: list[str] = []
    length = 0
    for text in _text_nodes(element):
        parts += text[: 4 * MOST_VALUE_LENGTH].split()
        length += len(text)
        if length > 4 * MOST_VALUE_LENGTH:
            break
    return " ".join(parts)


def _text_nodes(element: turbohtml.Element) -> Iterator[str]:
    for node in islice(element.descendants, MOST_NODES):
        if isinstance(node, turbohtml.Text):
            parent = node.parent
            is_seen = not isinstance(parent, turbohtml.Element) or parent.tag not in UNSEEN
            if is_seen or parent == element:
                yield node.data
