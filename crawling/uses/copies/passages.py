"""Passages that two texts share, and how much of the texts that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crawling.datasets.text_diff import ByUniqueItems
from crawling.uses.copies.results import Passage, SharedText

#: a shared passage has as many words or more
LEAST_WORDS = 5
#: of longer texts the beginnings are compared
MOST_WORDS = 100_000
#: characters of a passage that are shown, from its beginning and its end
MOST_SHOWN = 1_500


def compare_texts(one: str, other: str) -> SharedText:
    """Letters count as small, and blanks not at all. It takes n log n.

    A passage that stands elsewhere in the order of the other text does not count.
    """
    words = [text.split()[:MOST_WORDS] for text in (one, other)]
    passages, shared = [], 0
    for is_shared, (a, a_to), (b, b_to) in _parts(*words):
        shared += a_to - a if is_shared else 0
        texts = (_shown(words[0][a:a_to]), _shown(words[1][b:b_to]))
        passages.append(Passage(is_shared, *texts))
    return SharedText(2 * shared / max(1, sum(map(len, words))), shared, passages)


Span = tuple[int, int]


def _parts(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[bool, Span, Span]]:
    """Where each part begins and ends in both texts, and whether it is shared."""
    at_one = at_other = 0
    for a, b, size in _blocks(one, other):
        overlap = max(0, at_one - a, at_other - b)
        a, b, size = a + overlap, b + overlap, size - overlap
        if size <= 0:
            continue
        if a > at_one or b > at_other:
            yield False, (at_one, a), (at_other, b)
        yield True, (a, a + size), (b, b + size)
        at_one, at_other = a + size, b + size
    if at_one < len(one) or at_other < len(other):
        yield False, (at_one, len(one)), (at_other, len(other))


def _blocks(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Shared passages, which may overlap at their ends: words that stand in a row in both."""
    matches = ByUniqueItems(_rows(one), _rows(other)).get_matching_blocks()
    return ((a, b, size + LEAST_WORDS - 1) for a, b, size in matches if size)


def _rows(words: Sequence[str]) -> list[tuple[str, ...]]:
    """LEAST_WORDS words in a row, from each word on: single words repeat too often."""
    folded = [word.casefold() for word in words]
    return list(zip(*(folded[at:] for at in range(LEAST_WORDS)), strict=False))


def _shown(words: Sequence[str]) -> str:
    text = " ".join(words)
    if len(text) <= MOST_SHOWN:
        return text
    half = MOST_SHOWN // 2
    return f"{text[:half]} … {text[-half:]}"
