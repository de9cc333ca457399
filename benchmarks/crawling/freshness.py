"""Freshness and age of pages under each policy of visits, as the model expects them and as a
simulation of changes and visits finds them.
`python -m benchmarks.crawling.freshness [--pages 20000] [--days 1000] [--seed 1]`

Rates of change are lognormal: a site has news and pages that nobody edits. Their median is one
change in ten days; the budget is a tenth of the pages a day. The policy "estimated" is the optimal
one by rates that are estimated from 60 days of uniform visits, which tell whether a page changed
but not when. At last the budget of a million pages is allocated.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawling.frontier.rules.change_rate import Floats, Prior, Visits, estimate_rates
from crawling.frontier.rules.visit_rates import (
    freshness,
    optimal_rates,
    proportional_rates,
    uniform_rates,
)

MEDIAN_RATE = 0.1
SPREAD = 1.5
SHARE_OF_PAGES = 0.1
DAYS_OF_HISTORY = 60
MANY_PAGES = 1_000_000


class Played(NamedTuple):
    """freshness: mean share of the time, of each page. age: mean days. seen: the visits."""

    freshness: Floats
    age: Floats
    seen: Visits


def play(
    changes: Floats, visits: Floats, days: float, seed: int, *, is_even: bool = False
) -> Played:
    """Let pages change at these rates and be visited at these for so many days.

    is_even: the visits of a page are at one interval, which begins anywhere; else at random.

    All pages are fresh at the start. Moments are page number + share of the time, so that one array
    has those of all pages in order.
    """
    chance = np.random.default_rng(seed)
    pages, n = np.arange(len(changes)), len(changes)
    changed = np.sort(_at_random(chance, pages, changes * days))
    counts = visits * days
    visited = np.sort((_evenly if is_even else _at_random)(chance, pages, counts))
    begins = np.sort(np.concatenate((pages.astype(float), visited)))
    page = np.floor(begins).astype(np.int64)
    ends = np.minimum(np.append(begins[1:], n), page + 1.0)
    first = np.append(changed, np.inf)[np.searchsorted(changed, begins)]
    stale = np.maximum(0, ends - first) * days
    seen = _seen(begins, page, changed, days)
    return Played(
        1 - np.bincount(page, stale, n) / days, np.bincount(page, stale**2 / 2, n) / days, seen
    )


def _seen(begins: Floats, page: NDArray[np.int64], changed: Floats, days: float) -> Visits:
    """What visits saw, of each page all but the first moment, at which it was fresh."""
    before = np.searchsorted(changed, begins)
    again = np.flatnonzero(np.diff(page, prepend=-1) == 0)
    gaps = (begins[again] - begins[again - 1]) * days
    again, gaps = again[gaps > 0], gaps[gaps > 0]
    has_changed = before[again] > before[again - 1]
    last = (begins[again] - changed[np.maximum(before[again] - 1, 0)]) * days
    return Visits(page[again], gaps, has_changed, np.where(has_changed, last, np.nan))


def _at_random(chance: np.random.Generator, pages: NDArray[np.int64], counts: Floats) -> Floats:
    of = np.repeat(pages, chance.poisson(counts))
    return of + chance.random(len(of))


def _evenly(chance: np.random.Generator, pages: NDArray[np.int64], counts: Floats) -> Floats:
    start = chance.random(len(pages))
    whole = np.floor(counts + start).astype(np.int64)  # on average as many as counts say
    of = np.repeat(pages, whole)
    number = np.arange(len(of)) - np.repeat(np.cumsum(whole) - whole, whole)
    return of + (number + 1 - start[of]) / counts[of]


def rates_of(pages: int, seed: int) -> Floats:
    return np.random.default_rng(seed).lognormal(np.log(MEDIAN_RATE), SPREAD, pages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n`")[0])
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--days", type=float, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    changes = rates_of(options.pages, options.seed)
    weights, budget = np.ones(options.pages), options.pages * SHARE_OF_PAGES
    uniform = uniform_rates(changes, budget)
    seen = play(changes, uniform, DAYS_OF_HISTORY, options.seed).seen
    seen = Visits(seen.page, seen.days, seen.changed, np.full_like(seen.days, np.nan))
    began = time.perf_counter()
    estimated = estimate_rates(seen, options.pages, Prior(MEDIAN_RATE, 0.5)).rate
    estimation = time.perf_counter() - began
    policies = {
        "uniform": uniform,
        "proportional": proportional_rates(changes, budget),
        "optimal": optimal_rates(changes, weights, budget),
        "estimated": optimal_rates(estimated, weights, budget),
    }
    print(
        f"{options.pages:,} pages, {budget:,.0f} visits a day, {options.days:g} days, seed "
        f"{options.seed}; rates of {len(seen.days):,} visits estimated in {estimation:.2f} s"
    )
    print(
        f"{'policy':14}{'expected':>10}{'played':>10}{'evenly':>10}{'visited':>10}{'age, days':>12}"
    )
    for name, visits in policies.items():
        at_random = play(changes, visits, options.days, options.seed + 1)
        evenly = play(changes, visits, options.days, options.seed + 2, is_even=True)
        print(
            f"{name:14}{freshness(changes, visits).mean():10.4f}{at_random.freshness.mean():10.4f}"
            f"{evenly.freshness.mean():10.4f}{(visits > 0).mean():10.1%}"
            f"{evenly.age.mean():12.1f}"
        )
    many = rates_of(MANY_PAGES, options.seed)
    began = time.perf_counter()
    optimal_rates(many, np.ones_like(many), MANY_PAGES * SHARE_OF_PAGES)
    print(f"{MANY_PAGES:,} pages: budget allocated in {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
