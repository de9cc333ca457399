"""What an operator wants out of HTML pages, by CSS selector. BeautifulSoup: slower than the parser of links, and the better known."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bs4 import BeautifulSoup, Tag

from crawling.documents.charsets import decode
from crawling.rules.selectors import read_selector

#: XHTML is read as HTML, and BeautifulSoup would warn of it
PROLOGUE = re.compile(r"\A\s*<\?xml[^>]*>")
#: of a larger page the beginning is read; BeautifulSoup needs about a second for so much
MOST_BYTES = 2 * 1024 * 1024
MOST_VALUES = 1000
MOST_VALUE_LENGTH = 10_000


def extract(body: bytes, charset: str, rules: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (name, value) of all matches: their text, or the attribute that the rule names. At most MOST_VALUES."""
    text = PROLOGUE.sub("", decode(body[:MOST_BYTES], charset)[0])
    if "<" not in text:
        return []
    soup = BeautifulSoup(text, "html.parser")
    found: list[tuple[str, str]] = []
    for name, rule in rules.items():
        selector, attribute = read_selector(rule)
        for element in selector.select(soup, limit=MOST_VALUES - len(found)) if len(found) < MOST_VALUES else ():
            value = _value(element, attribute)
            if value:
                found.append((name, value))
    return found


def _value(element: Tag, attribute: str) -> str:
    if not attribute:
        return " ".join(element.get_text(" ").split())[:MOST_VALUE_LENGTH].replace("\0", "")
    value = element.get(attribute) or ""
    return (value if isinstance(value, str) else " ".join(value)).strip()[:MOST_VALUE_LENGTH].replace("\0", "")
