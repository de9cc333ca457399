"""The normal forms in which texts are compared: Unicode's forms, without invisible characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import combining, normalize

#: Characters that are not displayed: control characters, and characters with Unicode's property
#: Default_Ignorable_Code_Point, like soft hyphens, joiners, direction marks and variation
#: selectors.
INVISIBLE = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
    "\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff]++"
)
#: Characters that normalization sorts within each run of them, in time with the square of the run's
#: length: combining marks, and letters that become some.
MARKS = "".join(mark for mark in map(chr, range(0x300, 0x1F000)) if combining(mark))
ORDERED = f"{MARKS}\u0f73\u0f75\u0f81\uff9e\uff9f"
#: No letter of any language has more than these (Unicode Standard Annex 15, section 13).
LONG_RUN = re.compile(rf"([{ORDERED}]{{30}})[{ORDERED}]++")
#: The same characters among the first 65,536, to which nearly all texts are limited. Python's
#: expressions look up these characters in a table, but search a list for further ones, which takes
#: ten times as long.
BASIC = "".join(mark for mark in ORDERED if mark < "\U00010000")
BASIC_LONG_RUN = re.compile(rf"([{BASIC}][{BASIC}]{{29}})[{BASIC}]++")
FURTHER = re.compile("[\U00010000-\U0010ffff]")
#: the lower-case form of a capital I with a dot, which other languages write as i
DOTTED_I = "i\u0307"
#: voicing marks behind half-width kana, and letters that are parts of a syllable
JOINED_MARKS, JOINED_LETTERS = "\uff9e\uff9f", ("\u1160", "\u11ff")


def normalized_line(line: str) -> str:
    """A line in which differences of white space and of the coding of characters (form C) are
    removed.
    """
    return " ".join(normalize("NFC", _visible_text(line)).split())


def searched_form(text: str) -> str:
    """A text in which all spellings of a word are equal (Unicode, NFKC_Casefold): differences of
    letter case, ligatures, widths, and composed or decomposed letters are removed.
    """
    if text.isascii():
        return INVISIBLE.sub("", text).lower()
    folded = normalize("NFKC", normalize("NFKC", _visible_text(text)).casefold())
    return folded.replace(DOTTED_I, "i")


def _visible_text(text: str) -> str:
    """The text without invisible characters, and with no more marks on a letter than any language
    has.
    """
    text = INVISIBLE.sub("", text)
    if text.isascii():
        return text
    return (LONG_RUN if FURTHER.search(text) else BASIC_LONG_RUN).sub(r"\1", text)


def searched_form_with_places(text: str) -> tuple[str, list[int]]:
    """The search form of a text, and for each of its characters, and its end, the place in the
    text.
    """
    folded: list[str] = []
    places: list[int] = []
    for at, cluster in _character_clusters(text):
        form = searched_form(cluster)
        folded.append(form)
        places += [at] * len(form)
    return "".join(folded), [*places, len(text)]


def _character_clusters(text: str) -> Iterator[tuple[int, str]]:
    """Each character with its place, and with the marks behind it with which it may combine."""
    start = 0
    for at, character in enumerate(text):
        if at and not _is_joined(character):
            yield start, text[start:at]
            start = at
    if text:
        yield start, text[start:]


def _is_joined(character: str) -> bool:
    if character < "\u0300":
        return False
    is_letter = JOINED_LETTERS[0] <= character <= JOINED_LETTERS[1]
    return is_letter or character in JOINED_MARKS or bool(combining(character))
