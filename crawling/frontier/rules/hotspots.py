"""Which pages are popular now: counts that halve every hour, kept so that they need not be touched
while nothing happens.

Instead of a count, its heat is kept: the binary logarithm of the count plus the half-lives since
the epoch. It stays right as time goes on, and the order of heats is at every moment the order of
the decayed counts.
"""

from __future__ import annotations

from math import log2

HALF_LIFE_SECONDS = 3600.0
#: a page counted less than this is no longer kept count of
LEAST_COUNT = 0.05


def count_at(heat: float, now: float) -> float:
    """The decayed count; `now` in seconds since the epoch."""
    return float(2.0 ** min(heat - now / HALF_LIFE_SECONDS, 1000.0))


def heat_of(count: float, now: float) -> float:
    return log2(count) + now / HALF_LIFE_SECONDS


def heated(heat: float | None, now: float, by: int = 1) -> float:
    """The heat after so many more; None: it had none."""
    return heat_of(by if heat is None else count_at(heat, now) + by, now)
