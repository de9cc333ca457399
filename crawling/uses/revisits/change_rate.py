"""How often pages change, estimated from visits at irregular intervals.

Changes of a page are a Poisson process. A visit tells whether the page changed since the visit
before it, and perhaps by Last-Modified how long ago. The rate is the most likely one, as in Cho and
Garcia-Molina, "Estimating frequency of change" (2003), with two additions that keep it finite and
above zero: half an unchanged visit of the mean length, which for visits at one interval is the
paper's correction of the bias, and a prior.

The ends of its interval are those of the likelihood ratio, without the half visit and with half the
prior, which would draw the upper end below what pages have that change several times between two
visits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: the drop of the logarithm of the likelihood: half of the 95 % quantile of chi-squared
DROP = 1.92
#: the share of the prior in the interval
PRIOR_SHARE = 0.5
#: the widest interval of the logarithm; its power is far from the largest number
WIDEST = 300.0
#: Newton's method gains from the left at least a factor of two a step, and at the end squares its
#: error
MOST_STEPS = 100
PRECISE = 1e-12
#: the precision of the logarithm of an end of the interval, and the longest step
PRECISE_END, LONGEST_STEP = 1e-6, 3.0


@dataclass(frozen=True)
class Visits:
    """Visits of pages that had been visited before, in any order; arrays of one length."""

    #: its number, from 0
    page: NDArray[np.int64]
    #: since the visit before, above 0
    days: Floats
    changed: NDArray[np.bool_]
    #: days since the last change, as the server states; NaN if unknown. A value for an unchanged
    #: page, or beyond the visit before, is ignored
    age: Floats

    def __post_init__(self) -> None:
        if not self.page.shape == self.days.shape == self.changed.shape == self.age.shape:
            raise ValueError("the arrays of visits have different lengths")
        if not (np.isfinite(self.days) & (self.days > 0)).all():
            raise ValueError("a visit has days that are not above 0")


class Prior(NamedTuple):
    """The knowledge before the first visit: a rate in changes a day, above 0, and its weight in
    changes seen, above 0.
    """

    rate: float
    weight: float


class ChangeRates(NamedTuple):
    """Changes a day of each page, with the ends of an interval of 95 %; all above 0 and finite."""

    rate: Floats
    low: Floats
    high: Floats


def estimate_rates(visits: Visits, pages: int, prior: Prior) -> ChangeRates:
    """The rate of each of `pages` pages; a page without visits has the prior's.

    Each step of Newton's method takes O(visits); there are seldom more than ten.
    """
    if not (prior.rate > 0 and prior.weight > 0):
        raise ValueError("rate and weight of the prior are above 0")
    with np.errstate(invalid="ignore"):
        dated = visits.changed & (visits.age >= 0) & (visits.age <= visits.days)
    undated = visits.changed & ~dated
    page, days = visits.page[undated], visits.days[undated]

    seen_unchanged = np.where(dated, visits.age, visits.days)
    visits_of = _sum(visits.page, np.ones_like(visits.days), pages)
    mean = _sum(visits.page, seen_unchanged, pages) / np.maximum(visits_of, 1)
    certain = _sum(visits.page[~undated], seen_unchanged[~undated], pages)
    #: days in which the page did not change, and changes whose moment is known
    still = certain + mean / 2 + prior.weight / prior.rate
    moments = _sum(visits.page[dated], np.ones(dated.sum()), pages) + prior.weight

    rate = _most_likely(page, days, still, moments)
    information = moments + _sum(page, _certainty(rate[page] * days), pages)
    # The ratio is too narrow where few changes were seen. This is close to the limit of a Poisson
    # count: for 0 it is 4 (exactly 3.7), for 10 it is 18.6 (exactly 18.4).
    most = rate * (np.sqrt(information + 1) + 1) ** 2 / information
    still -= mean / 2 + (1 - PRIOR_SHARE) * prior.weight / prior.rate
    moments -= (1 - PRIOR_SHARE) * prior.weight
    peak = _most_likely(page, days, still, moments)
    low, high = (_end(page, days, still, moments, peak, side) for side in (-1, 1))
    return ChangeRates(rate, np.minimum(low, rate), np.maximum(high, most))


def _end(
    page: NDArray[np.int64], days: Floats, still: Floats, moments: Floats, peak: Floats, side: int
) -> Floats:
    """The rate at which the logarithm of the likelihood is DROP below its peak; side: -1 or 1.

    In the logarithm of the rate it is concave: Newton's method passes the root once at most, and by
    no more than LONGEST_STEP.
    """
    pages, centre = len(still), np.log(peak)

    def likely(at: Floats) -> Floats:
        undated = _sum(page, np.log(-np.expm1(-np.exp(at)[page] * days)), pages)
        found: Floats = moments * at - still * np.exp(at) + undated
        return found

    information = moments + _sum(page, _certainty(peak[page] * days), pages)
    wanted = likely(centre) - DROP
    at = centre + side * np.minimum(2 / np.sqrt(information), LONGEST_STEP)
    for _ in range(MOST_STEPS):
        x = np.exp(at)[page] * days
        with np.errstate(over="ignore"):
            slope = moments - still * np.exp(at) + _sum(page, x / np.expm1(x), pages)
        step = np.clip((wanted - likely(at)) / slope, -LONGEST_STEP, LONGEST_STEP)
        following = np.clip(at + step, centre - WIDEST, centre + WIDEST)
        if (np.abs(following - at) <= PRECISE_END).all():
            break
        at = following
    found: Floats = np.exp(at)
    return found


def _most_likely(page: NDArray[np.int64], days: Floats, still: Floats, moments: Floats) -> Floats:
    """The rate at which the slope of the logarithm of the likelihood is 0:

        moments / rate + sum of days / (exp(rate * days) - 1) = still

    page, days: of the visits that found a change of unknown moment. The slope is convex and falls,
    so that Newton's method never passes the root from a start on its left. As
    1/x - 1/2 < 1 / (exp(x) - 1) < 1/x, the root lies between the start and `most`.
    """
    pages = len(still)
    changes = moments + _sum(page, np.ones_like(days), pages)
    rate, most = changes / (still + _sum(page, days, pages) / 2), changes / still
    for _ in range(MOST_STEPS):
        x = rate[page] * days
        with np.errstate(over="ignore"):
            likely = days / np.expm1(x)
        slope = moments / rate + _sum(page, likely, pages) - still
        fall = (moments + _sum(page, _certainty(x), pages)) / rate**2
        following = np.clip(rate + slope / fall, rate, most)
        if (following - rate <= PRECISE * rate).all():
            return following
        rate = following
    return rate


def _certainty(x: Floats) -> Floats:
    """The information of a change within an interval about the rate, as a share of that of its
    moment.
    """
    half = np.minimum(x, 1400) / 2  # beyond, the share is 0 and the sine infinite
    return (half / np.sinh(half)) ** 2


def _sum(page: NDArray[np.int64], values: Floats, pages: int) -> Floats:
    return np.bincount(page, weights=values, minlength=pages).astype(np.float64, copy=False)
