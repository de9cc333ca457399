"""The time of each page's next visit with a budget of visits a day. Moments are in days, from any
zero. Visits follow one another, and each takes its share of a day.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: a fraction whose multiples are spread evenly between whole numbers, however many multiples are
#: taken
GOLDEN = 0.6180339887


def spread_visits(wanted: Floats, budget: float, start: float) -> Floats:
    """The moment of each visit: the wanted moment, or the first one after it that the budget
    allows.

    budget: visits a day, above 0. start: the moment from which the budget counts.

    Visits that are wanted earlier come first, equal ones in the given order, and none before
    `start`. The number of visits between any two moments is at most the budget for the days between
    them, plus one. O(n log n).
    """
    order = np.argsort(wanted, kind="stable")
    number = np.arange(len(wanted)) / budget
    moments = np.empty_like(wanted)
    behind = np.maximum.accumulate(wanted[order] - number)
    moments[order] = np.maximum(behind, start) + number
    return moments


def shares_of_wait(fingerprints: Sequence[int], visits: Floats) -> Floats:
    """For each page, the share of its interval that passes before its next visit, from 0 to below
    1. The shares are evenly spread among pages, and for each page among its visits, so that no page
    always has a short wait.

    fingerprints: signed, of 64 bits. visits: the number of visits of each page so far.
    """
    first = np.array(fingerprints, np.float64) / 2.0**64 + 0.5
    shares: Floats = (first + GOLDEN * visits) % 1
    return shares


def visits_in_horizon(visits: Floats) -> Floats:
    """The number of visits within half a day of each visit, including itself. O(n log n)."""
    moments = np.sort(visits)
    before, behind = (np.searchsorted(moments, visits + days) for days in (-0.5, 0.5))
    return (behind - before).astype(np.float64)


def end_of_spent_budget(visits: Floats, budget: float, began: float, most: float) -> float:
    """The moment until which visits have used up a budget that begins at `began`.

    visits: the moments of visits, in any order, none before `began`. most: the most days after a
    visit up to which visits may use the budget in advance.

    Each visit moves the moment forward by its share of a day, unless the moment would be too far
    ahead of the visit. O(n log n).
    """
    if not len(visits):
        return began
    number = np.arange(1, len(visits) + 1) / budget
    bounds = np.sort(visits) + most - number
    return float(min(began, bounds.min()) + number[-1])
