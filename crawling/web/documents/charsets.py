"""Which characters the bytes of a text are: by byte order mark, by the server, by the document
itself, or by a good guess.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from turbohtml.detect import detect

from crawling.web.document_stream import DocumentStream

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: `<?xml … encoding="…"?>` (XML 1.0, section 4.3.3) and `@charset "…"` (CSS Syntax, section 3.2)
STATED = re.compile(
    rb"""\A\s{0,100}(?:<\?xml[^>]{0,200}?encoding\s*=\s*|@charset\s+)["']([A-Za-z0-9._:-]{1,40})["']"""
)
#: names of the web that mean another set than Python's: a larger one (Encoding Standard, section
#: 4.2), or one with an order of its bytes
LARGER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "shift_jis": "cp932",
    "iso8859-9": "cp1254",
    "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
}
#: codecs of Python's own that turn bytes into text and are no character sets
NO_CHARACTER_SETS = frozenset(
    {
        "idna",
        "punycode",
        "undefined",
        "unicode-escape",
        "raw-unicode-escape",
        "unicode_escape",
        "raw_unicode_escape",
    }
)
#: a guess is made from so many bytes
GUESSED_FROM = 64 * 1024


def decode(body: bytes, stated: str | None) -> tuple[str, str]:
    """Return the text and its character set; bytes that are none of its characters become
    U+FFFD."""
    text, charset = decoded_pieces(DocumentStream.of(body), len(body), stated)
    return "".join(text), charset


def decoded_pieces(
    body: DocumentStream, most: int, stated: str | None
) -> tuple[Iterator[str], str]:
    """The text of the first `most` bytes of a document, in pieces, and its character set."""
    codec, charset, mark = _charset_of(body, most, stated)
    return _pieces(body, most, codec, len(mark)), charset


def _charset_of(body: DocumentStream, most: int, stated: str | None) -> tuple[str, str, bytes]:
    """Python's codec, the name of the character set, and the mark in front of the text."""
    head = body.start(min(most, GUESSED_FROM))
    for mark, name in MARKS:
        if head.startswith(mark):
            return name, name, mark
    within = STATED.match(head[:400])
    for label in (stated, within[1].decode() if within else None):
        if label and (name := _codec(label)):
            return name, label.lower(), b""
    if name := utf_16_without_a_mark(head):
        return name, name, b""
    if is_utf_8(body, most):
        return "utf-8", "utf-8", b""
    guess = detect(head).encoding or "windows-1252"
    return _codec(guess) or "cp1252", guess.lower(), b""


def _pieces(body: DocumentStream, most: int, codec: str, begins_at: int) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(codec)("replace")
    for number, piece in enumerate(body.pieces(most)):
        yield decoder.decode(piece if number else piece[begins_at:])
    yield decoder.decode(b"", True)


def is_utf_8(body: DocumentStream, most: int) -> bool:
    """Whether the first `most` bytes are UTF-8; the last character may be cut off."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in body.pieces(most):
            decoder.decode(piece)
    except UnicodeDecodeError:
        return False
    return True


def utf_16_without_a_mark(body: bytes) -> str:
    """Which UTF-16 a text without a byte order mark is in; "" if in none.

    Marks of markup, digits and blanks have a zero byte, all on one side.
    """
    head = body[:512]
    pairs = len(head) // 2
    even, odd = head[::2].count(0), head[1::2].count(0)
    if min(even, odd) * 20 > pairs or max(even, odd) * 2 < pairs or pairs < 2:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _codec(label: str) -> str:
    """Python's codec for a label of the web; "" for one that it has not, or that makes no text."""
    try:
        info = codecs.lookup(label.strip())
    except (LookupError, ValueError, UnicodeError):
        return ""
    # codecs that turn bytes into bytes, like base64, are no character sets
    is_text = getattr(info, "_is_text_encoding", True) and info.name not in NO_CHARACTER_SETS
    is_text = is_text and info.incrementaldecoder is not None
    return LARGER.get(info.name, info.name) if is_text else ""
