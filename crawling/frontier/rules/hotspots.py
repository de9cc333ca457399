"""Which pages are popular now: counts that halve every hour, kept so that they need no update while
nothing happens.

Instead of a count, its heat is kept: the binary logarithm of the count plus the half-lives since
the epoch. The heat stays right as time goes on, and the order of heats is at every moment the order
of the decayed counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import log2
from typing import NamedTuple

HALF_LIFE_SECONDS = 3600.0
#: a page with a lower count is no longer counted
LEAST_COUNT = 0.05


def count_at(heat: float, now: float) -> float:
    """The decayed count; `now` in seconds since the epoch."""
    return float(2.0 ** min(heat - now / HALF_LIFE_SECONDS, 1000.0))


def heat_of(count: float, now: float) -> float:
    return log2(count) + now / HALF_LIFE_SECONDS


def heated(heat: float | None, now: float, by: int = 1) -> float:
    """The heat after `by` more requests; heat is None if there were none before."""
    return heat_of(by if heat is None else count_at(heat, now) + by, now)


class RevisitCheck(NamedTuple):
    """A time at which the server was asked, and what the document was then."""

    at: datetime
    digest: bytes


def due_again(checks: Sequence[RevisitCheck], most: timedelta) -> datetime:
    """When the page must be fetched again.

    checks: of all earlier runs that asked, the latest first, at least one.

    A page that was the same for a week is left alone for another, and so for twice as long each
    time; a page that had changed at the last check, or was requested only once, is due at once.
    """
    latest = checks[0]
    same_since = latest.at
    for check in checks[1:]:
        if check.digest != latest.digest:
            break
        same_since = check.at
    return latest.at + min(latest.at - same_since, most)
