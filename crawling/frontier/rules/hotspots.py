"""The pages that are popular now, by request counts that halve every hour and need no update
between requests.

Each count is stored as a heat: the binary logarithm of the count plus the number of half-lives
since the epoch. The heat stays right as time passes, and the order of heats is always the order of
the decayed counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import log2
from typing import NamedTuple

HALF_LIFE_SECONDS = 3600.0
#: a page with a lower count is no longer kept
LEAST_COUNT = 0.05


def decayed_count(heat: float, now: float) -> float:
    """The decayed count; `now` in seconds since the epoch."""
    return float(2.0 ** min(heat - now / HALF_LIFE_SECONDS, 1000.0))


def heat_of_count(count: float, now: float) -> float:
    return log2(count) + now / HALF_LIFE_SECONDS


def increased_heat(heat: float | None, now: float, by: int = 1) -> float:
    """The heat after `by` more requests. heat: None if there were none before."""
    return heat_of_count(by if heat is None else decayed_count(heat, now) + by, now)


class RevisitCheck(NamedTuple):
    """A check of a page: the time of the request, and the document at that time."""

    at: datetime
    digest: bytes


def next_check_time(checks: Sequence[RevisitCheck], most: timedelta) -> datetime:
    """The time when the page must be fetched again.

    checks: at least one, latest first, from all earlier runs that checked the page.

    A page that was unchanged for a week is left alone for another week, and so for twice as long
    each time. A page that had changed at the latest check, or was requested only once, is due at
    once.
    """
    latest = checks[0]
    same_since = latest.at
    for check in checks[1:]:
        if check.digest != latest.digest:
            break
        same_since = check.at
    return latest.at + min(latest.at - same_since, most)
