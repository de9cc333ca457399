"""The rate at which to visit each page with a budget of visits a day.

If changes and visits of a page are Poisson processes with these rates, the page is fresh for the
share visits / (visits + changes) of the time. `optimal_rates` makes the weighted mean of these
shares as large as possible (Azar, Horvitz, Lubetzky, Peres and Shahaf, "Tractable near-optimal
policies for crawling", 2018). The other policies are for comparison.

All rates are per day. Arrays have an element for each page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def optimal_rates(changes: Floats, weights: Floats, budget: float) -> Floats:
    """The visits of each page that maximize the sum of weights * freshness, given the sum of all
    visits.

    A page that never changes, that has no weight, or that changes too often for the budget gets no
    visits. The sum is the budget if any page has both changes and weight.

    The pages that are visited are the first by the gain of their first visit, weights / changes.
    With q = sqrt(weights / changes) in falling order, page i of k gets

        changes_i * (q_k * budget - d_k + (budget + c_k) * (q_i - q_k)) / s_k

    where c_k, s_k and d_k are the sums of changes, of changes * q and of changes * (q - q_k) over
    the k pages, and k is the last number with q_k * budget > d_k. No difference of sums is taken,
    so that rates of any magnitude lose no digits. O(n log n).
    """
    _check_arguments(changes, weights, budget)
    rates = np.zeros_like(changes)
    able = np.flatnonzero((changes > 0) & (weights > 0))
    if not len(able) or not budget:
        return rates
    gain = np.sqrt(weights[able] / changes[able])
    order = np.argsort(-gain, kind="stable")
    of, q = changes[able][order], gain[order]
    sums = np.cumsum(of)
    below = np.concatenate(([0.0], np.cumsum(sums[:-1] * -np.diff(q))))
    k = int(np.count_nonzero(q * budget > below))
    of, q = of[:k], q[:k]
    excess = q[-1] * budget - below[k - 1] + (budget + sums[k - 1]) * (q - q[-1])
    shares = of * excess
    rates[able[order[:k]]] = shares * (budget / shares.sum())
    return rates


def uniform_rates(changes: Floats, budget: float) -> Floats:
    """The same number of visits for each page."""
    _check_arguments(changes, changes, budget)
    return np.full_like(changes, budget / max(1, len(changes)))


def proportional_rates(changes: Floats, budget: float) -> Floats:
    """Visits in proportion to changes: a page that changes twice as often is visited twice as
    often. Without any change, the pages get no visits.
    """
    _check_arguments(changes, changes, budget)
    total = changes.sum()
    return changes * (budget / total) if total else np.zeros_like(changes)


#: functions from changes and budget to visits, by the names of policies in orders
POLICIES: Mapping[str, Callable[[Floats, float], Floats]] = {
    "optimal": lambda changes, budget: optimal_rates(changes, np.ones_like(changes), budget),
    "uniform": uniform_rates,
    "proportional": proportional_rates,
}


def rates_by_policy(policy: str, changes: Floats, budget: float, *, least: float) -> Floats:
    """The visits of each page by a policy, but at least `least` for each page. Pages that would get
    fewer get `least`, and the rest of the budget is divided again among the others.

    For the optimal policy this is the optimum under that condition. If the budget does not suffice,
    all pages get the same.
    """
    least = min(least, budget / max(1, len(changes)))
    rates, left = np.full_like(changes, least), np.arange(len(changes))
    while len(left):
        rest = max(0.0, budget - least * (len(changes) - len(left)))
        shares = POLICIES[policy](changes[left], rest)
        enough = shares >= least
        if enough.all():
            rates[left] = shares
            break
        left = left[enough]
    return rates


def mean_freshness(changes: Floats, visits: Floats) -> Floats:
    """The share of the time in which each page is unchanged since its last visit."""
    total = changes + visits
    return np.divide(visits, total, out=np.ones_like(total), where=changes > 0)


def mean_age_days(changes: Floats, visits: Floats) -> Floats:
    """The mean number of days since the first change after the last visit; infinite without
    visits.
    """
    stale = np.divide(changes, changes + visits, out=np.zeros_like(changes), where=changes > 0)
    with np.errstate(divide="ignore"):
        return np.divide(stale, visits, out=stale, where=stale > 0)


def freshness_after(changes: Floats, days: Floats) -> Floats:
    """The probability that each page is unchanged after this number of days."""
    return np.exp(-changes * days)


def age_days_after(changes: Floats, days: Floats) -> Floats:
    """The mean number of days since the first change, after `days` days without a visit; 0 for a
    page that never changes.
    """
    changed = -np.expm1(-changes * days)
    return days - np.divide(changed, changes, out=days.copy(), where=changes > 0)


def _check_arguments(changes: Floats, weights: Floats, budget: float) -> None:
    for name, values in (("changes", changes), ("weights", weights), ("budget", budget)):
        if not (np.isfinite(values) & (np.asarray(values) >= 0)).all():
            raise ValueError(f"{name} are finite and not below 0")
