"""Which simhashes differ in few bits, of a million, without comparing each with each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crawling.base.errors import CrawlError
from crawling.web.simhash import NEAR_BITS

#: two simhashes that differ in NEAR_BITS bits share one of so many bands
BANDS = NEAR_BITS + 1
BAND_BITS = 64 // BANDS
#: that share a band: each is compared, and more would take the job too long
MOST_PAIRS = 100_000_000


class TooManyNearCopies(CrawlError):
    """So many pages have nearly the same text that comparing them was not begun; choose smaller
    runs, or exact copies.
    """


def near_pairs(simhashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of both simhashes of each pair that differs in NEAR_BITS bits or fewer, some pairs
    more than once.

    simhashes: each once, as int64. Raises TooManyNearCopies.
    """
    ones, others = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    bands = [_band(simhashes, number) for number in range(BANDS)]
    sizes = [np.unique(band, return_counts=True)[1].astype(np.int64) for band in bands]
    if sum(int((size * (size - 1) // 2).sum()) for size in sizes) > MOST_PAIRS:
        raise TooManyNearCopies
    for band in bands:
        for one, other in _pairs(band):
            is_near = np.bitwise_count(simhashes[one] ^ simhashes[other]) <= NEAR_BITS
            ones.append(one[is_near])
            others.append(other[is_near])
    return np.concatenate(ones), np.concatenate(others)


def _pairs(band: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All pairs of places that have the same value."""
    order = np.argsort(band, kind="stable")
    ordered, first, apart = band[order], np.arange(len(band)), 1
    while (first := first[first < len(band) - apart]).size:
        first = first[ordered[first + apart] == ordered[first]]
        yield order[first], order[first + apart]
        apart += 1


def _band(simhashes: np.ndarray, number: int) -> np.ndarray:
    found: np.ndarray = (simhashes >> (BAND_BITS * number)) & ((1 << BAND_BITS) - 1)
    return found
