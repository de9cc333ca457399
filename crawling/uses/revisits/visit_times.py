"""When each page is visited next with a budget of visits a day.

Moments are in days, from any zero. Each visit takes its share of a day, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: a fraction whose multiples are spread evenly between whole numbers, however many there are
GOLDEN = 0.6180339887


def spread(wanted: Floats, budget: float, start: float) -> Floats:
    """The moment of each visit: when it is wanted or as soon after it as the budget allows.

    budget: visits a day, above 0. start: from when on it counts.

    Visits that are wanted first come first, equal ones in their order; none is before `start`.
    Between any two moments are at most as many visits as the budget has for the days between them,
    plus one. O(n log n).
    """
    order = np.argsort(wanted, kind="stable")
    number = np.arange(len(wanted)) / budget
    moments = np.empty_like(wanted)
    behind = np.maximum.accumulate(wanted[order] - number)
    moments[order] = np.maximum(behind, start) + number
    return moments


def shares_of_wait(fingerprints: Sequence[int], visits: Floats) -> Floats:
    """The part of its wait that passes before each page's next visit, from 0 to below 1: evenly
    spread among pages, and for each page among its visits, so that none has a short wait for ever.

    fingerprints: of 64 bits, with sign. visits: the number of visits of each page so far.
    """
    first = np.array(fingerprints, np.float64) / 2.0**64 + 0.5
    shares: Floats = (first + GOLDEN * visits) % 1
    return shares


def visits_near(visits: Floats) -> Floats:
    """The number of visits within half a day of each visit, with itself. O(n log n)."""
    moments = np.sort(visits)
    before, behind = (np.searchsorted(moments, visits + days) for days in (-0.5, 0.5))
    return (behind - before).astype(np.float64)


def spent_until(visits: Floats, budget: float, began: float, most: float) -> float:
    """The moment until which visits have spent the budget, whose first day begins at `began`.

    visits: their moments, in any order, none before `began`. most: the most days after a visit that
    are taken for visits above the budget.

    With each visit the moment moves on by its share of a day, if that is not too far ahead of the
    visit. O(n log n).
    """
    if not len(visits):
        return began
    number = np.arange(1, len(visits) + 1) / budget
    bounds = np.sort(visits) + most - number
    return float(min(began, bounds.min()) + number[-1])
