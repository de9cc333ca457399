"""The forms in which texts are compared: Unicode's, without characters that show nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import combining, normalize

#: Characters that are not displayed: control characters, and those of Unicode's
#: Default_Ignorable_Code_Point, like soft hyphens, joiners, marks of direction and variation signs.
INVISIBLE = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
    "\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff]++"
)
#: Characters that are put in order within a run of them before two texts are compared, in time with
#: the square of its length: marks, and letters that become some.
MARKS = "".join(mark for mark in map(chr, range(0x300, 0x1F000)) if combining(mark))
ORDERED = f"{MARKS}\u0f73\u0f75\u0f81\uff9e\uff9f"
#: More than these stand behind no letter of any language (Unicode Standard Annex 15, section 13).
LONG_RUN = re.compile(rf"([{ORDERED}]{{30}})[{ORDERED}]++")
#: The same among the first 65,536 characters, which nearly all texts keep to. Python's expressions
#: look a character up among these, but go through a list of further ones: ten times as slow.
BASIC = "".join(mark for mark in ORDERED if mark < "\U00010000")
BASIC_LONG_RUN = re.compile(rf"([{BASIC}][{BASIC}]{{29}})[{BASIC}]++")
FURTHER = re.compile("[\U00010000-\U0010ffff]")
#: the small letter of a capital I with a dot, which other languages write as i
DOTTED_I = "i\u0307"
#: marks of voice that stand behind kana of half width, and letters that are parts of a syllable
JOINED_MARKS, JOINED_LETTERS = "\uff9e\uff9f", ("\u1160", "\u11ff")


def one_form(line: str) -> str:
    """A line without differences in white space and in the coding of characters (form C)."""
    return " ".join(normalize("NFC", _shown(line)).split())


def searched_form(text: str) -> str:
    """A text in which spellings of the same word are equal (Unicode, NFKC_Casefold): letter case,
    ligatures, widths, composed and decomposed letters make no difference.
    """
    if text.isascii():
        return INVISIBLE.sub("", text).lower()
    folded = normalize("NFKC", normalize("NFKC", _shown(text)).casefold())
    return folded.replace(DOTTED_I, "i")


def _shown(text: str) -> str:
    """The text without invisible characters, and with no more marks on a letter than languages
    have.
    """
    text = INVISIBLE.sub("", text)
    if text.isascii():
        return text
    return (LONG_RUN if FURTHER.search(text) else BASIC_LONG_RUN).sub(r"\1", text)


def searched_places(text: str) -> tuple[str, list[int]]:
    """The searched text, and the place in the text of each of its characters, and of its end."""
    folded: list[str] = []
    places: list[int] = []
    for at, cluster in _clusters(text):
        form = searched_form(cluster)
        folded.append(form)
        places += [at] * len(form)
    return "".join(folded), [*places, len(text)]


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    """Each character with the marks behind it, with which it may combine, and its place."""
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
