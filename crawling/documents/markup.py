"""XML as feeds and sitemaps have it: strict first, then as browsers read anything. Entities are never expanded: no bomb goes off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

import turbohtml

from crawling.documents.base import Source
from crawling.documents.charsets import decode

CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
#: HTML knows an element of this name, which never has content
LINK = re.compile(r"<(/?)link\b", re.IGNORECASE)


def read_markup(source: Source) -> tuple[turbohtml.Document, str]:
    """Return the document and its character set. What is not well-formed is read as HTML, where nothing is a mistake."""
    text, charset = decode(source.body, source.charset)
    text = CDATA.sub(lambda section: escape(section[1]), text.lstrip())
    try:
        return turbohtml.parse_xml(text), charset
    except turbohtml.HTMLParseError:
        body = LINK.sub(r"<\1xml:link", text).encode(errors="replace")
        return turbohtml.parse(body, encoding="utf-8", positions=False), charset


def root_of(document: turbohtml.Document) -> str:
    """The name of the outermost element that is not HTML's own."""
    return next((name_of(element) for element in elements(document) if name_of(element) not in ("html", "head", "body")), "")


def elements(document: turbohtml.Document) -> Iterator[turbohtml.Element]:
    return (node for node in document.descendants if isinstance(node, turbohtml.Element))


def name_of(element: turbohtml.Element) -> str:
    """Its name without the prefix of its namespace, in small letters."""
    return element.tag.rpartition(":")[2].lower()


def attribute(element: turbohtml.Element, name: str) -> str:
    """An attribute as it is written; "" if it has none. (Those that hold words come as lists.)"""
    value = element.attrs.get(name) or ""
    return value if isinstance(value, str) else " ".join(value)
