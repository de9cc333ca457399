"""Pages that change at random and visits to them, as the model of revisits assumes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawling.uses.revisits.change_rate import Floats, Visits

#: rates of change are lognormal: a site has news pages and pages that are never edited
MEDIAN_RATE = 0.1
SPREAD = 1.5


class Played(NamedTuple):
    """The results. freshness: the mean share of the time for which a page was fresh. age: the mean
    in days. seen: the visits.
    """

    freshness: Floats
    age: Floats
    seen: Visits


def play(
    changes: Floats, visits: Floats, days: float, seed: int, *, is_even: bool = False
) -> Played:
    """Let pages change at these rates and be visited at these rates for so many days.

    is_even: the visits of a page have one interval, which begins at a random time; else they are
    random.

    All pages are fresh at the start. Moments are page number + share of the time, so that one array
    has those of all pages in order.
    """
    chance = np.random.default_rng(seed)
    pages, n = np.arange(len(changes)), len(changes)
    changed = np.sort(_at_random(chance, pages, changes * days))
    counts = visits * days
    visited = np.sort((_evenly if is_even else _at_random)(chance, pages, counts))
    begins = np.sort(np.concatenate((pages.astype(float), visited)))
    page = np.floor(begins).astype(np.int64)
    ends = np.minimum(np.append(begins[1:], n), page + 1.0)
    first = np.append(changed, np.inf)[np.searchsorted(changed, begins)]
    stale = np.maximum(0, ends - first) * days
    seen = _seen(begins, page, changed, days)
    return Played(
        1 - np.bincount(page, stale, n) / days, np.bincount(page, stale**2 / 2, n) / days, seen
    )


def _seen(begins: Floats, page: NDArray[np.int64], changed: Floats, days: float) -> Visits:
    """The visits that were seen: of each page, all but the first moment, at which it was fresh."""
    before = np.searchsorted(changed, begins)
    again = np.flatnonzero(np.diff(page, prepend=-1) == 0)
    gaps = (begins[again] - begins[again - 1]) * days
    again, gaps = again[gaps > 0], gaps[gaps > 0]
    has_changed = before[again] > before[again - 1]
    last = (begins[again] - changed[np.maximum(before[again] - 1, 0)]) * days
    return Visits(page[again], gaps, has_changed, np.where(has_changed, last, np.nan))


def _at_random(chance: np.random.Generator, pages: NDArray[np.int64], counts: Floats) -> Floats:
    of = np.repeat(pages, chance.poisson(counts))
    return of + chance.random(len(of))


def _evenly(chance: np.random.Generator, pages: NDArray[np.int64], counts: Floats) -> Floats:
    start = chance.random(len(pages))
    whole = np.floor(counts + start).astype(np.int64)  # on average as many as counts say
    of = np.repeat(pages, whole)
    number = np.arange(len(of)) - np.repeat(np.cumsum(whole) - whole, whole)
    return of + (number + 1 - start[of]) / counts[of]


def rates_of(pages: int, seed: int) -> Floats:
    return np.random.default_rng(seed).lognormal(np.log(MEDIAN_RATE), SPREAD, pages)
