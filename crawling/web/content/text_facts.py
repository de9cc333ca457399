"""The recorded facts of a page's text: its beginning, a simhash, and its own words. Words of the
page's address or title are not its own, nor are numbers and ids, which may differ at each visit.

The facts of many pages are computed in a row, before the pages are recorded (docs/decisions/0146).
Between the other steps of a page they would take half as long again, since each step finds the
processor's caches full of the code of others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from xxhash import xxh32_intdigest

from crawling.web.simhash import folded_text, simhash

#: the most characters of a text that is kept until its page is recorded; the facts of a longer text
#: are computed at once
LONGEST_KEPT = 16_384
ABSTRACT_LENGTH = 300
#: the end of a line caused by an element within a sentence
AT_A_MARK = re.compile(r"\n(?:(?=[,.;:!?)\]])|(?<=[(\[]\n))")
#: longer texts are compared with their addresses and ids, which are a small part of them
MOST_COMPARED = 2_000


def abstract_of(text: str) -> str:
    """The beginning of a text, as one line that a database can store."""
    beginning = AT_A_MARK.sub("", text[: 4 * ABSTRACT_LENGTH])
    return " ".join(beginning.split())[:ABSTRACT_LENGTH].replace("\0", "")


class TextFacts:
    """Computes each fact on its first use, unless `compute` has computed all."""

    __slots__ = (
        "_abstract",
        "_has_key",
        "_is_computed",
        "_is_listed",
        "_key",
        "_marks",
        "_page",
        "_simhash",
    )

    def __init__(
        self,
        text: str,
        url: str = "",
        title: str = "",
        *,
        has_key: bool = False,
        is_listed: bool = False,
    ) -> None:
        """has_key: the page was read, and is compared with other pages of the site. is_listed: the
        page belongs to a list of pages, whose words are compared one by one.
        """
        self._page, self._has_key, self._is_listed = (text, url, title), has_key, is_listed
        self._abstract = ""
        self._simhash: int | None = None
        self._key: int | bytes | None = None
        self._marks = frozenset[int]()
        self._is_computed = not (text or has_key)
        if len(text) > LONGEST_KEPT:
            self.compute()

    @classmethod
    def from_values(
        cls, abstract: str, simhash: int | None, key: int | bytes | None, marks: Iterable[int]
    ) -> TextFacts:
        """The facts that were computed elsewhere."""
        facts = cls("")
        facts._abstract, facts._simhash, facts._key = abstract, simhash, key
        facts._marks = frozenset(marks)
        return facts

    def compute(self) -> None:
        """Compute the facts. Best called for many texts in a row."""
        if self._is_computed:
            return
        text, url, title = self._page
        if text:
            self._abstract, self._simhash = abstract_of(text), simhash(text)
        if self._has_key:
            is_short = len(text) <= MOST_COMPARED
            words = distinctive_words(text, url, title) if is_short or self._is_listed else []
            self._key = text_key(words) if is_short else self._simhash or b""
            self._marks = word_marks(words) if self._is_listed else self._marks
        # set last, so that the facts are computed again if memory was lacking
        self._page, self._is_computed = ("", "", ""), True

    @property
    def abstract(self) -> str:
        self.compute()
        return self._abstract

    @property
    def simhash(self) -> int | None:
        """The simhash of the text; None if the text is too short."""
        self.compute()
        return self._simhash

    @property
    def key(self) -> int | bytes | None:
        """A simhash, or the whole text if it is too short for one; None if the page has no key."""
        self.compute()
        return self._key

    @property
    def marks(self) -> frozenset[int]:
        """The words of a page of a list, as numbers."""
        self.compute()
        return self._marks


NO_TEXT = TextFacts("")


WORD = re.compile(r"\w++")
#: a table that leaves only the words of an ASCII text, in a third of the time
NO_WORDS = {code: " " for code in range(128) if not WORD.match(chr(code))}
#: longer words, and words with a digit, are numbers, ids, or random
LONGEST_WORD = 23
#: if fewer words are left, the title may contain the whole text, so its words are kept
LEAST_BESIDE_TITLE = 10
#: the most words of a text that are examined
MOST_WORDS = 10_000


def distinctive_words(text: str, url: str, title: str) -> list[str]:
    """The words of a text in their order, without the words of its page's address and, if enough
    are left, without the words of its title.
    """
    found = _split_words(text)[:MOST_WORDS]
    distinct = set(found)
    owed = distinct.intersection(_split_words(url))
    owed.update(w for w in distinct if not w.isalpha() or len(w) > LONGEST_WORD)
    words = [word for word in found if word not in owed] if owed else found
    titled = distinct.intersection(_split_words(title))
    rest = [word for word in words if word not in titled] if titled else words
    return rest if len(rest) >= LEAST_BESIDE_TITLE else words


def _split_words(text: str) -> list[str]:
    text = text.lower()
    return text.translate(NO_WORDS).split() if text.isascii() else WORD.findall(text)


def text_key(words: Iterable[str]) -> int | bytes:
    """The key by which short texts are compared: a simhash, or the whole text if it is too short
    for one.

    Each word counts once. Otherwise the many days without an event would make all pages of a
    calendar alike.
    """
    said = " ".join(dict.fromkeys(words))
    return folded_text(said) if (mark := simhash(said)) is None else mark


def word_marks(words: Iterable[str]) -> frozenset[int]:
    """Words as 32-bit numbers."""
    return frozenset(map(xxh32_intdigest, map(str.encode, words)))
