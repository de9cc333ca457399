"""Which characters the bytes of a text are: by byte order mark, by the server, by the document
itself, or by a good guess.
"""

from __future__ import annotations

import codecs
import re

from turbohtml.detect import detect

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: `<?xml … encoding="…"?>` (XML 1.0, section 4.3.3) and `@charset "…"` (CSS Syntax, section 3.2)
STATED = re.compile(
    rb"""\A\s{0,100}(?:<\?xml[^>]{0,200}?encoding\s*=\s*|@charset\s+)["']([A-Za-z0-9._:-]{1,40})["']"""
)
#: names of the web that mean a larger set than the one they name (Encoding Standard, section 4.2)
LARGER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "shift_jis": "cp932",
    "iso8859-9": "cp1254",
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
    for mark, name in MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace"), name
    within = STATED.match(body[:400])
    for label in (stated, within[1].decode() if within else None):
        if label and (name := _codec(label)):
            return body.decode(name, "replace"), label.lower()
    if name := utf_16_without_a_mark(body):
        return body.decode(name, "replace"), name
    try:
        return body.decode(), "utf-8"
    except UnicodeDecodeError as error:
        if error.start > len(body) - 4:  # the last character of a beginning is cut off
            return body.decode(errors="replace"), "utf-8"
        guess = detect(body[:GUESSED_FROM]).encoding or "windows-1252"
        return body.decode(_codec(guess) or "cp1252", "replace"), guess.lower()


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
    return LARGER.get(info.name, info.name) if is_text else ""
