"""Plain text: the addresses that stand in it, as a reader would see them."""

from __future__ import annotations

import re

from crawling.web.documents.base import MOST_TEXT, Document, DocumentSource, TruncationReason
from crawling.web.documents.charsets import decode
from crawling.web.links import Links

TYPES = ("text/plain", "text/csv", "text/markdown")
#: of a longer one the beginning is read
MOST_BYTES = 4 * 1024 * 1024
#: a scheme, and all up to a blank or a mark that no address holds
BARE = re.compile(r"""\bhttps?://[^\s<>"'`{}|\\^\x00-\x1f]{1,4000}""", re.IGNORECASE)
#: what ends a sentence and not an address
TAIL = ".,;:!?*_~"
PAIRS = {")": "(", "]": "["}


def read(source: DocumentSource) -> Document:
    """Find addresses; one in brackets loses the bracket, one that holds both keeps them."""
    text, charset = decode(source.body[:MOST_BYTES], source.charset)
    links = Links(source.url, charset="UTF-8")
    for match in BARE.finditer(text):
        links.add(_without_tail(match[0]))
    unread = TruncationReason.SIZE if len(source.body) > MOST_BYTES else links.unread
    shown = text[:MOST_TEXT].replace("\0", "")
    return Document(charset=charset, links=links.found, text=shown, unread=unread)


def _without_tail(url: str) -> str:
    """Without what ends the sentence; brackets are counted once, since there may be thousands."""
    surplus = {mark: url.count(mark) - url.count(PAIRS[mark]) for mark in PAIRS}
    end = len(url)
    while end and (url[end - 1] in TAIL or surplus.get(url[end - 1], 0) > 0):
        end -= 1
        if url[end] in surplus:
            surplus[url[end]] -= 1
    return url[:end]
