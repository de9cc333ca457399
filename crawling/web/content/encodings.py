"""The Encoding Standard: labels, decoders, and the encoders that queries of links and forms need.

The HTML parser provides the standard's decoders, as codecs whose names begin with `whatwg-`. It has
no encoders, and Python's use other tables (decision 122). So each encoder is the inverted decoder,
with the exceptions that the standard names.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from urllib.parse import quote

import turbohtml
import turbohtml.detect  # registers the codecs

UTF_8 = "UTF-8"
REPLACEMENT = "replacement"
#: bytes that begin a character of several bytes
LEADS = range(0x81, 0xFF)
TRAILS = range(0x30, 0xFF)
MULTI_BYTE = {
    "GBK": LEADS,
    "gb18030": LEADS,
    # earlier bytes are those of the Hong Kong Supplement (section 11.1.2)
    "Big5": range(0xA1, 0xFF),
    "EUC-JP": LEADS,
    # NEC's selection of IBM's characters, and characters of private use, are decoded but never
    # encoded (section 12.3.2)
    "Shift_JIS": [*range(0x81, 0xA0), *range(0xE0, 0xED), *range(0xFA, 0xFD)],
    "EUC-KR": LEADS,
}
#: characters that Big5 has twice; the later code counts (section 5, "index Big5 pointer")
LATER_IN_BIG5 = frozenset("\u2550\u255e\u2561\u256a\u5341\u5345")
#: characters once of private use, which have other codes in later versions of gb18030 (section
#: 10.2.2)
ONCE_PRIVATE = {
    **{0xE78D + n: bytes([0xA6, 0xD9 + n]) for n in range(7)},
    **{0xE794: b"\xa6\xec", 0xE795: b"\xa6\xed", 0xE796: b"\xa6\xf3", 0xE81E: b"\xfe\x59"},
    **{0xE826: b"\xfe\x61", 0xE82B: b"\xfe\x66", 0xE82C: b"\xfe\x67", 0xE832: b"\xfe\x6d"},
    **{0xE843: b"\xfe\x7e", 0xE854: b"\xfe\x90", 0xE864: b"\xfe\xa0"},
}
JAPANESE = ("EUC-JP", "Shift_JIS", "ISO-2022-JP")
#: characters that the Japanese encoders replace by others
YEN, OVERLINE, MINUS, WIDE_MINUS = "\xa5", "\u203e", "\u2212", "\uff0d"
#: characters that the special-query percent-encode set leaves unchanged (URL Standard, section 1.3)
PLAIN_IN_QUERIES = "!$%&()*+,-./:;=?@[\\]^_`{|}~"
LABEL_BLANKS = "\t\n\f\r "
NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
Table = dict[str, bytes]


@lru_cache(maxsize=512)  # 228 labels, and unknown ones that pages state
def encoding_name(label: str) -> str:
    """Get an encoding by its label (section 4.2); "" if no encoding has that label."""
    try:
        found = turbohtml.parse(b"", encoding=label.strip(LABEL_BLANKS), positions=False).encoding
    except (LookupError, ValueError):
        return ""
    return found or ""


def decoder_of(name: str) -> Callable[[bytes], str]:
    """Return a function that decodes a whole text, without a byte order mark, in this encoding."""
    decode = codecs.lookup(f"whatwg-{name}").decode
    return lambda body: decode(body, "replace")[0]


def is_single_byte(name: str) -> bool:
    """Whether a text may be decoded in parts with any boundaries."""
    return name not in MULTI_BYTE and name not in (REPLACEMENT, "ISO-2022-JP")


def output_encoding(name: str) -> str:
    """The encoding in which data are sent (section 4.3)."""
    return UTF_8 if name == REPLACEMENT or name.startswith("UTF-16") else name


def encode_with_references(text: str, name: str) -> bytes:
    """A text in an encoding. Characters that the encoding lacks become numeric references, as in
    HTML (section 4.1).
    """
    return b"".join(
        piece if isinstance(piece, bytes) else b"&#%d;" % piece
        for piece in _encoded_pieces(text, name)
    )


def percent_encoded_query(text: str, name: str) -> str:
    """A query as browsers write it: encoded, then percent-encoded (URL Standard, section 1.3).

    name: the name of the encoding, or one of its labels.
    """
    name = encoding_name(name) or UTF_8
    return NOT_ASCII.sub(lambda run: _percent_encoded(run[0], name), text)


def _percent_encoded(text: str, name: str) -> str:
    return "".join(
        quote(piece, safe=PLAIN_IN_QUERIES) if isinstance(piece, bytes) else f"%26%23{piece}%3B"
        for piece in _encoded_pieces(text, name)
    )


def _encoded_pieces(text: str, name: str) -> Iterator[bytes | int]:
    """The bytes of each character, or the number of a character that the encoding does not have."""
    name = output_encoding(name)
    if name == UTF_8:
        yield text.encode(errors="replace")
    elif name == "ISO-2022-JP":
        yield from _iso_2022_jp(text)
    else:
        table = _encoding_table(name)
        for character in _japanese_form(text) if name in JAPANESE else text:
            yield table.get(character) or _code_outside_table(character, name)


def _code_outside_table(character: str, name: str) -> bytes | int:
    """The code of a character that is in no table: four bytes in gb18030, otherwise its number."""
    number = ord(character)
    if name != "gb18030" or number == 0xE5E5 or 0xD800 <= number < 0xE000:
        return number
    return ONCE_PRIVATE.get(number) or character.encode("gb18030")


def _japanese_form(text: str) -> str:
    return text.replace(MINUS, WIDE_MINUS)


@cache
def _encoding_table(name: str) -> Table:
    """The bytes of each character, derived from the decoder. If a character has two codes, the
    first counts.
    """
    decode = decoder_of(name)
    has_pairs = name in MULTI_BYTE and name != "Shift_JIS"
    found: Table = {}
    for byte in range(0x80 if has_pairs else 0x100):
        _set_code(found, decode(bytes([byte])), bytes([byte]))
    pairs = [bytes([lead, trail]) for lead in MULTI_BYTE.get(name, ()) for trail in TRAILS]
    # no character contains a line break, which ends an incomplete one
    for pair, character in zip(pairs, decode(b"\n".join(pairs)).split("\n"), strict=False):
        if character in LATER_IN_BIG5 and name == "Big5":
            found[character] = pair
        _set_code(found, character, pair)
    if name == "GBK":
        found["\u20ac"] = b"\x80"
    if name in ("EUC-JP", "Shift_JIS"):
        found |= {YEN: b"\\", OVERLINE: b"~"}
    return found


def _set_code(found: Table, character: str, written: bytes) -> None:
    if len(character) == 1 and character != "\ufffd":
        found.setdefault(character, written)


ASCII, ROMAN, KANJI = b"\x1b(B", b"\x1b(J", b"\x1b$B"


def _iso_2022_jp(text: str) -> Iterator[bytes | int]:
    """The encoder with states (section 12.2.2). A text begins and ends in the ASCII state."""
    state, kanji = ASCII, _encoding_table("EUC-JP")
    for character in _japanese_form(text):
        if "\uff61" <= character <= "\uff9f":  # the encoding has only the wide forms
            character = unicodedata.normalize("NFKC", character)
        if character.isascii():
            wanted, written = (ROMAN if state == ROMAN and character not in "\\~" else ASCII), None
        elif character in (YEN, OVERLINE):
            wanted, written = ROMAN, b"\\" if character == YEN else b"~"
        else:
            pair = kanji.get(character, b"")
            is_known = len(pair) == 2 and pair[0] >= 0xA1
            wanted = KANJI if is_known else ASCII
            written = bytes(byte - 0x80 for byte in pair) if is_known else b""
        if wanted != state:
            yield wanted
            state = wanted
        yield character.encode() if written is None else written or ord(character)
    if state != ASCII:
        yield ASCII
