"""Style sheets: the URLs in `url()` and `@import`.

Only crawls that fetch the parts of pages read style sheets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from crawling.web.documents.base import Document, DocumentSource, LinkNotes, TruncationReason
from crawling.web.documents.charsets import decoded_pieces
from crawling.web.links import Links

TYPES = ("text/css",)
#: the most bytes of a style sheet that are read
MOST_BYTES = 4 * 1024 * 1024
COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
#: a string with its escapes, or the bare text of a url(). Possessive throughout: the expression
#: never backtracks, so reading takes time in proportion to the length of a style sheet
NAMED = re.compile(
    r"""url\(\s*+(?:"((?:[^"\\\n]++|\\.)*+)"|'((?:[^'\\\n]++|\\.)*+)'"""
    r"""|((?:[^\s"'()\\]++|\\[0-9a-f]{1,6}+\s?+|\\[^0-9a-f])++))\s*+\)"""
    r"""|@import\s++(?:"((?:[^"\\\n]++|\\.)*+)"|'((?:[^'\\\n]++|\\.)*+)')""",
    re.IGNORECASE | re.DOTALL,
)
#: the arguments of an image-set() (CSS Images 4, section 2.4): images as strings, and functions
IMAGE_SET = re.compile(
    r"""image-set\(((?:[^()"']++|"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+'|\([^()]*+\))*+)""",
    re.IGNORECASE | re.DOTALL,
)
FUNCTION = re.compile(r"\([^()]*+\)")
STRING = re.compile(r""""((?:[^"\\\n]++|\\.)*+)"|'((?:[^'\\\n]++|\\.)*+)'""", re.DOTALL)
#: CSS Syntax, section 4.3.7
ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)


def read(source: DocumentSource) -> Document:
    """Read a style sheet, whether valid or not."""
    pieces, charset = decoded_pieces(source.body, MOST_BYTES, source.charset)
    links = Links(source.url, charset="UTF-8")
    for link in css_links("".join(pieces)):
        if not link.lower().startswith("data:"):
            links.add(link)
    unread = TruncationReason.SIZE if len(source.body) > MOST_BYTES else links.left_out
    return Document(charset=charset, links=links.found, unread=unread, notes=LinkNotes(links.bad()))


def css_links(sheet: str) -> Iterator[str]:
    """The URLs in a style sheet or in the declarations of one element."""
    sheet = ESCAPE.sub(_plain_letter, COMMENT.sub(" ", sheet))
    for match in NAMED.finditer(sheet):
        yield ESCAPE.sub(unescaped_text, next(filter(None, match.groups()), ""))
    for images in IMAGE_SET.finditer(sheet):
        for string in STRING.finditer(FUNCTION.sub("", images[1])):
            yield ESCAPE.sub(unescaped_text, string[1] or string[2] or "")


def _plain_letter(escape: re.Match[str]) -> str:
    """The letter of an escape that means the same unescaped. Any other escape is returned
    unchanged.
    """
    letter = unescaped_text(escape) if escape[1] else ""
    return letter if letter.isascii() and letter.isalpha() else escape[0]


def unescaped_text(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape[2]
    number = int(escape[1], 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
