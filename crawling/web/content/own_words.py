"""What a page says of its own: its text without the words that it owes to its address or its title,
and without numbers and ids, which may differ at each visit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from xxhash import xxh32_intdigest

from crawling.web.simhash import folded, simhash

WORD = re.compile(r"\w++")
#: those with a digit, or longer, are numbers, ids, or made by chance
LONGEST_WORD = 23
#: longer texts are compared as they are: what an address and an id add is little of them
MOST_COMPARED = 2_000
#: a text of fewer words may be all in its title
LEAST_BESIDE_TITLE = 10
#: words of a text that are looked at
MOST_WORDS = 10_000


def own_words(text: str, url: str, title: str) -> list[str]:
    """The words of a text that its page has not from its address, nor, if enough are left, from its
    title; in their order.
    """
    found = WORD.findall(text.lower())[:MOST_WORDS]
    owed = set(WORD.findall(url.lower()))
    words = [
        word for word in found if word.isalpha() and len(word) <= LONGEST_WORD and word not in owed
    ]
    titled = set(WORD.findall(title.lower()))
    rest = [word for word in words if word not in titled]
    return rest if len(rest) >= LEAST_BESIDE_TITLE else words


def text_key(text: str, words: list[str]) -> int | bytes:
    """What a text is compared by: a simhash, or all of it if it is too short for one."""
    if len(text) > MOST_COMPARED:
        return simhash(text) or b""
    said = " ".join(words)
    return folded(said) if (mark := simhash(said)) is None else mark


def word_marks(words: Iterable[str]) -> frozenset[int]:
    """Words as numbers of 32 bits."""
    return frozenset(map(xxh32_intdigest, map(str.encode, words)))
