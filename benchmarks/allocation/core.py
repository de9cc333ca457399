"""How long decisions take, on states that are built already: median and 99th percentile in
milliseconds.

It is processor time, so what else runs on the machine does not count.

python -m benchmarks.allocation.core
"""

from __future__ import annotations

import gc
import time
from functools import partial
from itertools import repeat, takewhile
from statistics import median, quantiles

from allocation.rules.banker import State, find_safe_sequence, finishable
from allocation.rules.searches import recursive_global, recursive_uncovered
from benchmarks.allocation.states import chain, random_state, reduced, with_idle
from benchmarks.timer import Step, Table, rounds_of

BUDGET_SECONDS, LEAST, MOST = 0.5, 5, 400
SIZES = (10, 100, 1_000, 10_000)
WIDTHS = (1, 10, 50)

Figures = tuple[float, float]


def measured(work: Step) -> Figures:
    """Median and 99th percentile of repeated runs, after one that does not count."""
    work()
    gc.collect()
    end = time.perf_counter() + BUDGET_SECONDS
    further = takewhile(lambda _: time.perf_counter() < end, repeat(work, MOST - LEAST))
    taken = [
        1000 * each.here for steps in (repeat(work, LEAST), further) for each in rounds_of(steps)
    ]
    return median(taken), quantiles(taken, n=100, method="inclusive")[98]


def full_check(state: State) -> Figures:
    return measured(lambda: find_safe_sequence(state))


def early_exit(state: State) -> Figures:
    """Until the process in the middle of the order has finished."""
    order = finishable(state)
    return measured(lambda: finishable(state, until=order[len(order) // 2]))


def main() -> None:
    table = Table("n", "m", "median ms", "p99 ms", "what")

    def tell(what: str, n: int, m: int, figures: Figures) -> None:
        table.row(n, m, *figures, what)

    for n in SIZES:
        for m in WIDTHS:
            state = random_state(n, m)
            tell("full check, random", n, m, full_check(state))
            tell("early exit, random", n, m, early_exit(state))
            tell("full check, chain", n, m, full_check(chain(n, m)))
    state = random_state(1_000, 10)
    built = measured(lambda: State(state.available, state.maximum, state.allocation).columns)
    tell("building a State and its arrays", 1_000, 10, built)
    for name, state in (("random", random_state(300, 10)), ("chain", chain(300, 10))):
        tell(f"as in use, {name}", 300, 10, full_check(state))
        for way, search in (("uncovered", recursive_uncovered), ("global", recursive_global)):
            tell(f"recursion, {way}, {name}", 300, 10, measured(partial(search, state)))
    crowd = with_idle(random_state(100, 10), 900)
    tell("whole scope, 900 hold nothing", 1_000, 10, full_check(crowd))
    tell("reduced scope: the 100 holders", 100, 10, full_check(reduced(crowd)))


if __name__ == "__main__":
    main()
