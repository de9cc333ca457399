"""The time of decisions on states that already exist: median and 99th percentile in milliseconds.

This is processor time, so other programs on the machine do not count.

python -m benchmarks.allocation.core
"""

from __future__ import annotations

import gc
import time
from functools import partial
from itertools import repeat, takewhile
from random import Random
from statistics import median, quantiles

from allocation.rules.banker import (
    State,
    find_safe_sequence,
    finishable_processes,
    fits,
    minus,
    plus,
)
from allocation.rules.searches import search_globally, search_uncovered
from benchmarks.report import Table
from benchmarks.timer import Step, rounds_of

BUDGET_SECONDS, LEAST, MOST = 0.5, 5, 400
SIZES = (10, 100, 1_000, 10_000)
WIDTHS = (1, 10, 50)

Figures = tuple[float, float]


def random_state(n: int, m: int, seed: int = 1) -> State:
    """Random claims of 1 to 10 and holdings within them, with just enough available units to make
    one hidden order safe.
    """
    random = Random(seed)  # noqa: S311 - a seed makes the state the same again
    maximum = [tuple(random.randint(1, 10) for _ in range(m)) for _ in range(n)]
    allocation = [tuple(random.randint(0, most) for most in row) for row in maximum]
    available = work = (0,) * m
    for i in random.sample(range(n), n):
        need = minus(maximum[i], allocation[i])
        if not fits(need, work):
            lack = tuple(max(0, more - units) for more, units in zip(need, work, strict=True))
            available, work = plus(available, lack), plus(work, lack)
        work = plus(work, allocation[i])
    return State(available, tuple(maximum), tuple(allocation))


def chain(n: int, m: int) -> State:
    """The worst case: each process releases enough only for the next, they are listed in reverse
    order, and differ only in the last class.
    """
    rest = (0,) * (m - 1)
    return State(
        (*rest, 1), tuple((*rest, 1 + n - i) for i in range(n)), tuple((*rest, 1) for _ in range(n))
    )


def reduced(state: State) -> State:
    """The paper's reduced scope, as a variant to be measured separately (SEEDS P6): the state of
    those processes that hold something. It is safe exactly if `state` is, as long as every claim
    fits into the capacity.

    A process that holds nothing releases nothing, so it helps no other. It can finish once all
    others have, since its claim fits into the capacity.
    """
    rows = [i for i, held in enumerate(state.allocation) if any(held)]
    return State(
        state.available,
        tuple(state.maximum[i] for i in rows),
        tuple(state.allocation[i] for i in rows),
    )


def with_idle(state: State, idle: int) -> State:
    m = len(state.available)
    maximum = (*state.maximum, *((1,) * m,) * idle)
    return State(state.available, maximum, (*state.allocation, *((0,) * m,) * idle))


def measured(work: Step) -> Figures:
    """Median and 99th percentile of repeated runs, after a first run that does not count."""
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
    """A check that stops when the process in the middle of the order has finished."""
    order = finishable_processes(state)
    return measured(lambda: finishable_processes(state, until=order[len(order) // 2]))


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
        for way, search in (("uncovered", search_uncovered), ("global", search_globally)):
            tell(f"recursion, {way}, {name}", 300, 10, measured(partial(search, state)))
    crowd = with_idle(random_state(100, 10), 900)
    tell("whole scope, 900 hold nothing", 1_000, 10, full_check(crowd))
    tell("reduced scope: the 100 holders", 100, 10, full_check(reduced(crowd)))


if __name__ == "__main__":
    main()
