"""When each page is visited next, if so many visits a day are allowed.

Moments are in days, from any zero. Each visit takes its share of a day, one after the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def spread(wanted: Floats, budget: float, start: float) -> Floats:
    """The moment of each visit: when it is wanted or as soon after it as the budget allows.

    budget: visits a day, above 0. start: from when on it counts.

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
