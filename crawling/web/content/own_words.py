"""The own words of a page: its text without the words that it owes to its address or its title, and
without numbers and ids, which may differ at each visit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from xxhash import xxh32_intdigest

from crawling.web.simhash import folded, simhash

WORD = re.compile(r"\w++")
#: of a text in ASCII: all but its words as blanks, in a third of the time
NO_WORDS = {code: " " for code in range(128) if not WORD.match(chr(code))}
#: those with a digit, or longer, are numbers, ids, or made by chance
LONGEST_WORD = 23
#: a text of fewer words may be all in its title
LEAST_BESIDE_TITLE = 10
#: words of a text that are looked at
MOST_WORDS = 10_000


def own_words(text: str, url: str, title: str) -> list[str]:
    """The words of a text that its page has not from its address, nor, if enough are left, from its
    title; in their order.
    """
    found = _words(text)[:MOST_WORDS]
    distinct = set(found)
    owed = distinct.intersection(_words(url))
    owed.update(w for w in distinct if not w.isalpha() or len(w) > LONGEST_WORD)
    words = [word for word in found if word not in owed] if owed else found
    titled = distinct.intersection(_words(title))
    rest = [word for word in words if word not in titled] if titled else words
    return rest if len(rest) >= LEAST_BESIDE_TITLE else words


def _words(text: str) -> list[str]:
    text = text.lower()
    return text.translate(NO_WORDS).split() if text.isascii() else WORD.findall(text)


def text_key(words: Iterable[str]) -> int | bytes:
    """The key by which short texts are compared: a simhash, or all of the text if it is too short
    for one.

    Each word counts once, or a calendar with few events would be all alike: by the word for a day
    without any.
    """
    said = " ".join(dict.fromkeys(words))
    return folded(said) if (mark := simhash(said)) is None else mark


def word_marks(words: Iterable[str]) -> frozenset[int]:
    """Words as numbers of 32 bits."""
    return frozenset(map(xxh32_intdigest, map(str.encode, words)))
