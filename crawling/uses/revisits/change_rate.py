"""The change rates of pages, estimated from visits at irregular intervals.

The changes of a page are modelled as a Poisson process. A visit tells whether the page has changed
since the previous visit and, if the server sends Last-Modified, how long ago. The rate is the most
likely one, as in Cho and Garcia-Molina, "Estimating frequency of change" (2003), with two additions
that keep it finite and above zero. One is half an unchanged visit of the mean length, which for
visits at equal intervals is the paper's correction of the bias. The other is a prior.

The ends of the rate's interval are those of the likelihood ratio, without the half visit and with
half the prior. With these in full, the upper end would be too low for pages that change several
times between two visits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: the drop of the log-likelihood at the ends of the interval: half of the 95 % quantile of
#: chi-squared
DROP = 1.92
#: the share of the prior's weight that counts for the interval
PRIOR_SHARE = 0.5
#: the largest logarithm of the width of an interval, far below the overflow of its power
WIDEST = 300.0
#: the most steps: from the left Newton's method gains at least a factor of two in each step, and in
#: the end squares its error
MOST_STEPS = 100
PRECISE = 1e-12
#: the precision with which the logarithm of an end is found, and the longest step
PRECISE_END, LONGEST_STEP = 1e-6, 3.0


@dataclass(frozen=True)
class Visits:
    """Visits of pages that had been visited before, in any order. All arrays have the same
    length.
    """

    #: the page of each visit, numbered from 0
    page: NDArray[np.int64]
    #: days since the previous visit, above 0
    days: Floats
    changed: NDArray[np.bool_]
    #: days since the last change, as the server states; NaN if unknown. A value is ignored if the
    #: page is unchanged, or if the change lies before the previous visit
    age: Floats

    def __post_init__(self) -> None:
        if not self.page.shape == self.days.shape == self.changed.shape == self.age.shape:
            raise ValueError("the arrays of visits have different lengths")
        if not (np.isfinite(self.days) & (self.days > 0)).all():
            raise ValueError("a visit has days that are not above 0")


class Prior(NamedTuple):
    """The assumed rate before the first visit, in changes a day, and its weight as a number of
    observed changes; both above 0.
    """

    rate: float
    weight: float


class ChangeRates(NamedTuple):
    """The change rate of each page in changes a day, with the ends of its 95 % interval. All are
    above 0 and finite.
    """

    rate: Floats
    low: Floats
    high: Floats


def estimate_rates(visits: Visits, pages: int, prior: Prior) -> ChangeRates:
    """The rate of each of `pages` pages. A page without visits has the rate of the prior.

    Each step of Newton's method takes O(visits). There are rarely more than ten steps.
    """
    if not (prior.rate > 0 and prior.weight > 0):
        raise ValueError("rate and weight of the prior are above 0")
    with np.errstate(invalid="ignore"):
        dated = visits.changed & (visits.age >= 0) & (visits.age <= visits.days)
    undated = visits.changed & ~dated
    page, days = visits.page[undated], visits.days[undated]

    seen_unchanged = np.where(dated, visits.age, visits.days)
    visits_of = _sum_by_page(visits.page, np.ones_like(visits.days), pages)
    mean = _sum_by_page(visits.page, seen_unchanged, pages) / np.maximum(visits_of, 1)
    certain = _sum_by_page(visits.page[~undated], seen_unchanged[~undated], pages)
    #: the days in which the page did not change; the moments are the changes at known moments
    still = certain + mean / 2 + prior.weight / prior.rate
    moments = _sum_by_page(visits.page[dated], np.ones(dated.sum()), pages) + prior.weight

    rate = _most_likely_rate(page, days, still, moments)
    information = moments + _sum_by_page(page, _log_certainty(rate[page] * days), pages)
    # the interval of the likelihood ratio is too narrow if few changes were seen. This value is
    # close to the limit of a Poisson count: 4 for 0 changes (exactly 3.7), 18.6 for 10 (exactly
    # 18.4)
    most = rate * (np.sqrt(information + 1) + 1) ** 2 / information
    still -= mean / 2 + (1 - PRIOR_SHARE) * prior.weight / prior.rate
    moments -= (1 - PRIOR_SHARE) * prior.weight
    peak = _most_likely_rate(page, days, still, moments)
    low, high = (_interval_bound(page, days, still, moments, peak, side) for side in (-1, 1))
    return ChangeRates(rate, np.minimum(low, rate), np.maximum(high, most))


def _interval_bound(
    page: NDArray[np.int64], days: Floats, still: Floats, moments: Floats, peak: Floats, side: int
) -> Floats:
    """The rate at which the logarithm of the likelihood is DROP below its peak; side: -1 or 1.

    In the logarithm of the rate the log-likelihood is concave, so Newton's method passes the root
    at most once, and by no more than LONGEST_STEP.
    """
    pages, centre = len(still), np.log(peak)

    def log_likelihood(at: Floats) -> Floats:
        undated = _sum_by_page(page, np.log(-np.expm1(-np.exp(at)[page] * days)), pages)
        found: Floats = moments * at - still * np.exp(at) + undated
        return found

    information = moments + _sum_by_page(page, _log_certainty(peak[page] * days), pages)
    wanted = log_likelihood(centre) - DROP
    at = centre + side * np.minimum(2 / np.sqrt(information), LONGEST_STEP)
    for _ in range(MOST_STEPS):
        x = np.exp(at)[page] * days
        with np.errstate(over="ignore"):
            slope = moments - still * np.exp(at) + _sum_by_page(page, x / np.expm1(x), pages)
        step = np.clip((wanted - log_likelihood(at)) / slope, -LONGEST_STEP, LONGEST_STEP)
        following = np.clip(at + step, centre - WIDEST, centre + WIDEST)
        if (np.abs(following - at) <= PRECISE_END).all():
            break
        at = following
    found: Floats = np.exp(at)
    return found


def _most_likely_rate(
    page: NDArray[np.int64], days: Floats, still: Floats, moments: Floats
) -> Floats:
    """The rate at which the slope of the logarithm of the likelihood is 0:

        moments / rate + sum of days / (exp(rate * days) - 1) = still

    page, days: those of visits that found a change at an unknown moment. The slope is convex and
    falls, so Newton's method never passes the root from a start on its left. As 1/x - 1/2 < 1 /
    (exp(x) - 1) < 1/x, the root lies between the start and `most`.
    """
    pages = len(still)
    changes = moments + _sum_by_page(page, np.ones_like(days), pages)
    rate, most = changes / (still + _sum_by_page(page, days, pages) / 2), changes / still
    for _ in range(MOST_STEPS):
        x = rate[page] * days
        with np.errstate(over="ignore"):
            likely = days / np.expm1(x)
        slope = moments / rate + _sum_by_page(page, likely, pages) - still
        fall = (moments + _sum_by_page(page, _log_certainty(x), pages)) / rate**2
        following = np.clip(rate + slope / fall, rate, most)
        if (following - rate <= PRECISE * rate).all():
            return following
        rate = following
    return rate


def _log_certainty(x: Floats) -> Floats:
    """The information about the rate in a change within an interval, as a share of that in a change
    at a known moment.
    """
    half = np.minimum(x, 1400) / 2  # for larger values the share is 0 and the sine infinite
    return (half / np.sinh(half)) ** 2


def _sum_by_page(page: NDArray[np.int64], values: Floats, pages: int) -> Floats:
    return np.bincount(page, weights=values, minlength=pages).astype(np.float64, copy=False)
