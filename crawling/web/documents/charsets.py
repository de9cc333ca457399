"""The character set of a text, by its byte order mark, its server's statement, the document itself,
or a guess.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from turbohtml.detect import detect

from crawling.web.content.encodings import UTF_8, decoder_of, encoding_name, is_single_byte
from crawling.web.document_stream import DocumentStream

MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_LE, "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "UTF-16BE"),
)
#: the Python codecs that decode as the standard says, in parts
PYTHONS = {UTF_8: "utf-8", "UTF-16LE": "utf-16-le", "UTF-16BE": "utf-16-be"}
#: the bytes of a text in a multi-byte encoding that are decoded at once
LONGEST_LINE = 1024 * 1024
#: `<?xml … encoding="…"?>` (XML 1.0, section 4.3.3) and `@charset "…"` (CSS Syntax, section 3.2)
STATED = re.compile(
    rb"""\A\s{0,100}(?:<\?xml[^>]{0,200}?encoding\s*=\s*|@charset\s+)["']([A-Za-z0-9._:-]{1,40})["']"""
)
#: the number of bytes from which a character set is guessed
GUESSED_FROM = 64 * 1024


def decode(body: bytes, stated: str | None) -> tuple[str, str]:
    """Return the text and its character set. Invalid bytes become U+FFFD."""
    text, charset = decoded_pieces(DocumentStream.of(body), len(body), stated)
    return "".join(text), charset


def decoded_pieces(
    body: DocumentStream, most: int, stated: str | None
) -> tuple[Iterator[str], str]:
    """The text of the first `most` bytes of a document, in pieces, and its character set."""
    name, label, mark = _charset_of(body, most, stated)
    return _pieces(body, most, name, len(mark)), label


def decoder_for(body: DocumentStream, stated: str | None) -> tuple[TextDecoder, str]:
    """The decoder of a document, to which parts are fed without the byte order mark, and the name
    of the character set.
    """
    name, label, _ = _charset_of(body, GUESSED_FROM, stated)
    return TextDecoder(name), label


class TextDecoder:
    """Decodes a text in parts. A byte that is no character of the encoding becomes U+FFFD."""

    def __init__(self, name: str) -> None:
        codec = PYTHONS.get(name)
        self._codec = codecs.getincrementaldecoder(codec)("replace") if codec else None
        self._decode = decoder_of(name)
        self._has_lines = not codec and not is_single_byte(name)
        self._held = b""

    def decode(self, part: bytes, *, is_last: bool = False) -> str:
        if self._codec:
            return self._codec.decode(part, is_last)
        if not self._has_lines:
            return self._decode(part)
        # in no encoding a line break is part of a character
        part = self._held + part
        end = len(part) if is_last or len(part) > LONGEST_LINE else part.rfind(b"\n") + 1
        self._held = part[end:]
        return self._decode(part[:end]) if end else ""


def _charset_of(body: DocumentStream, most: int, stated: str | None) -> tuple[str, str, bytes]:
    """The name of the encoding, the name that is shown for it, and the byte order mark of the
    text.
    """
    head = body.start(min(most, GUESSED_FROM))
    for mark, name in MARKS:
        if head.startswith(mark):
            return name, PYTHONS[name], mark
    if name := encoding_name(stated or ""):
        return name, (stated or "").lower(), b""
    if (within := STATED.match(head[:400])) and (name := encoding_within(head)):
        return name, within[1].decode().lower(), b""
    if wide := utf_16_without_a_mark(head):
        return {"utf-16-le": "UTF-16LE", "utf-16-be": "UTF-16BE"}[wide], wide, b""
    if is_utf_8(body, most):
        return UTF_8, "utf-8", b""
    guess = detect(head).encoding or ""
    name = encoding_name(guess) or "windows-1252"
    return name, name.lower(), b""


def encoding_within(head: bytes) -> str:
    """The name of the encoding that a document states in its first bytes; "" if it states none."""
    within = STATED.match(head[:400])
    name = encoding_name(within[1].decode()) if within else ""
    # a text that states its encoding in ASCII bytes is not in UTF-16
    return UTF_8 if name.startswith("UTF-16") else name


def _pieces(body: DocumentStream, most: int, name: str, begins_at: int) -> Iterator[str]:
    decoder = TextDecoder(name)
    for number, piece in enumerate(body.pieces(most)):
        yield decoder.decode(piece if number else piece[begins_at:])
    yield decoder.decode(b"", is_last=True)


def is_utf_8(body: DocumentStream, most: int) -> bool:
    """Whether the first `most` bytes are UTF-8. The last character may be incomplete."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in body.pieces(most):
            decoder.decode(piece)
    except UnicodeDecodeError:
        return False
    return True


def utf_16_without_a_mark(body: bytes) -> str:
    """The variant of UTF-16 of a text without a byte order mark; "" if it is not UTF-16.

    Markup, digits and blanks have a zero byte, always the same one of two.
    """
    head = body[:512]
    pairs = len(head) // 2
    even, odd = head[::2].count(0), head[1::2].count(0)
    if min(even, odd) * 20 > pairs or max(even, odd) * 2 < pairs or pairs < 2:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"
