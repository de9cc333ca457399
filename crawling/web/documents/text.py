"""Plain text: the addresses in it, as a reader would see them."""

from __future__ import annotations

import re

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import MOST_TEXT, Document, DocumentSource, TruncationReason
from crawling.web.documents.charsets import decoded_pieces
from crawling.web.links import Links

TYPES = ("text/plain", "text/csv", "text/markdown")
#: the most bytes of a text that are read
MOST_BYTES = 4 * 1024 * 1024
#: a scheme, and everything up to a blank or a mark that no address contains; such marks are also
#: the quotation marks, brackets and full-width punctuation of Chinese and Japanese. In
#: writing systems without spaces a letter may precede the scheme
BARE = re.compile(
    r"""(?<![A-Za-z0-9])https?://[^\s<>"'`{}|\\^\x00-\x1f"""
    r"""\u00ab\u00bb\u2018-\u201f\u2026\u2039\u203a\u3000-\u3003\u3008-\u3011\u3014-\u301f"""
    r"""\ufe30-\ufe4f\uff01\uff02\uff07-\uff09\uff0c\uff0e\uff1a-\uff1c\uff1e\uff1f"""
    r"""\uff3b\uff3d\uff5b\uff5d\uff5f-\uff64]{1,4096}""",
    re.IGNORECASE,
)
SCHEME_LENGTH = len("https://")
#: the beginning of a line of a text sitemap
WRITTEN = re.compile(r"https?://[^\s/]", re.IGNORECASE)
LINE_END = re.compile(r"[\r\n]+")
#: the most bytes of a text sitemap, and of the beginning that shows whether a text is one
MOST_LIST_BYTES, HEAD_BYTES = 50 * 1024 * 1024, 64 * 1024
LONGEST_LINE = 64 * 1024
#: characters that end a sentence and not an address
TAIL = ".,;:!?*_~"
PAIRS = {")": "(", "]": "["}


def read(source: DocumentSource) -> Document:
    """Find addresses. An address in brackets loses the brackets; an address that contains both
    brackets keeps them.

    A text with one address in each line is a text sitemap: a whole line is an address, with all its
    characters (sitemaps.org, "Text file").
    """
    is_list = source.content_type == "text/plain" and lists_addresses(source.body, source.charset)
    most, take = (MOST_LIST_BYTES, _take_lines) if is_list else (MOST_BYTES, _take_addresses)
    pieces, charset = decoded_pieces(source.body, most, source.charset)
    links, shown, rest, at = Links(source.url, charset="UTF-8"), "", "", 0
    for piece in pieces:
        shown += piece[: MOST_TEXT - len(shown)]
        rest, at = take(rest + piece, at, links)
        if links.unread:
            break
    take(rest + "\n", at, links)
    unread = TruncationReason.SIZE if len(source.body) > most else links.left_out
    return Document(charset=charset, links=links.found, text=shown.replace("\0", ""), unread=unread)


def lists_addresses(body: DocumentStream, stated: str | None = None) -> bool:
    """Whether nearly all lines of a text are addresses without words after them."""
    pieces, _ = decoded_pieces(body, HEAD_BYTES, stated)
    lines = "".join(pieces).splitlines()
    if len(body) > HEAD_BYTES:
        lines = lines[:-1]
    lines = [line.strip() for line in lines if line.strip()]
    addresses = [line for line in lines if WRITTEN.match(line)]
    spaced = sum(len(line.split()) > 1 for line in addresses)
    return len(addresses) * 4 >= len(lines) * 3 and len(addresses) > 2 * spaced


def _take_lines(text: str, _at: int, links: Links) -> tuple[str, int]:
    """Take in each whole line that is an address. Addresses within other lines are found as in any
    text.
    """
    *lines, rest = LINE_END.split(text)
    for line in lines:
        if WRITTEN.match(line := line.strip()):
            links.add(line)
        else:
            _take_addresses(line + "\n", 0, links)
    return (rest, 0) if len(rest) <= LONGEST_LINE else ("", 0)


def _take_addresses(text: str, at: int, links: Links) -> tuple[str, int]:
    """Take in the addresses from `at` on that are complete, whatever follows the text. Return the
    rest that may be the beginning of an address, with the character in front of it, and its place
    there.
    """
    for match in BARE.finditer(text, at):
        if match.end() == len(text):
            at = match.start()
            break
        links.add(_strip_punctuation(match[0]))
        at = match.end()
    else:
        at = max(at, len(text) - SCHEME_LENGTH)
    start = max(0, at - 1)
    return text[start:], at - start


def _strip_punctuation(url: str) -> str:
    """The URL without punctuation that ends a sentence. Brackets are counted once, since there may
    be thousands.
    """
    surplus = {mark: url.count(mark) - url.count(PAIRS[mark]) for mark in PAIRS}
    end = len(url)
    while end and (url[end - 1] in TAIL or surplus.get(url[end - 1], 0) > 0):
        end -= 1
        if url[end] in surplus:
            surplus[url[end]] -= 1
    return url[:end]
