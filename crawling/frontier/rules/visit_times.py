"""When each page is visited next, if so many visits a day are allowed.

Moments are in days, from any zero. Visits are counted as packets are by the generic cell rate
algorithm (ITU-T I.371): each one takes its share of a day, and what was not used is used later.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def free_from(visited: Floats, budget: float) -> float:
    """When the budget allows the next visit after those at these moments; without any, at any time.

    budget: visits a day, above 0.
    """
    if not len(visited):
        return -np.inf
    number = np.arange(len(visited)) / budget
    return float((np.sort(visited) - number).max() + len(visited) / budget)


def spread(wanted: Floats, budget: float, start: float) -> Floats:
    """The moment of each visit: when it is wanted or as soon after it as the budget allows.

    Those that are wanted first come first, of equals in their order; none is before `start`.
    Between any two moments are at most so many visits as the budget has for the days between them,
    and one. O(n log n).
    """
    order = np.argsort(wanted, kind="stable")
    number = np.arange(len(wanted)) / budget
    moments = np.empty_like(wanted)
    behind = np.maximum.accumulate(wanted[order] - number)
    moments[order] = np.maximum(behind, start) + number
    return moments
