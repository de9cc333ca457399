"""How long decisions take, on states that are built already: median and 99th percentile in
milliseconds.

It is processor time, so what else runs on the machine does not count.

python -m benchmarks.allocation.core
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from statistics import median, quantiles

from allocation.rules.banker import State, find_safe_sequence, finishable
from allocation.rules.searches import recursive_global, recursive_uncovered
from benchmarks.allocation.states import chain, random_state
from benchmarks.allocation.variants import reduced

BUDGET_SECONDS = 0.5
SIZES = (10, 100, 1_000, 10_000)
WIDTHS = (1, 10, 50)

Figures = tuple[float, float]


def measured(work: Callable[[], object], *, least: int = 5, most: int = 400) -> Figures:
    """Median and 99th percentile of repeated runs, after one that does not count."""
    work()
    gc.collect()
    taken: list[float] = []
    end = time.perf_counter() + BUDGET_SECONDS
    while len(taken) < least or (len(taken) < most and time.perf_counter() < end):
        begin = time.thread_time()
        work()
        taken.append((time.thread_time() - begin) * 1000)
    return median(taken), quantiles(taken, n=100, method="inclusive")[98]


def full_check(state: State) -> Figures:
    return measured(lambda: find_safe_sequence(state))


def early_exit(state: State) -> Figures:
    """Until the process in the middle of the order has finished."""
    order = finishable(state)
    return measured(lambda: finishable(state, until=order[len(order) // 2]))


def main() -> None:
    print(f"{'what':34}{'n':>7}{'m':>4}{'median ms':>12}{'p99 ms':>10}")
    for n in SIZES:
        for m in WIDTHS:
            state = random_state(n, m)
            _tell("full check, random", n, m, full_check(state))
            _tell("early exit, random", n, m, early_exit(state))
            _tell("full check, chain", n, m, full_check(chain(n, m)))
    state = random_state(1_000, 10)
    _tell(
        "building a State and its arrays",
        1_000,
        10,
        measured(lambda: State(state.available, state.maximum, state.allocation).columns),
    )
    for name, state in (("random", random_state(300, 10)), ("chain", chain(300, 10))):
        _tell(f"as in use, {name}", 300, 10, full_check(state))
        _tell(
            f"recursion, uncovered, {name}", 300, 10, measured(partial(recursive_uncovered, state))
        )
        _tell(f"recursion, global, {name}", 300, 10, measured(partial(recursive_global, state)))
    crowd = _with_idle(random_state(100, 10), 900)
    few = reduced(crowd)
    _tell("whole scope, 900 hold nothing", 1_000, 10, full_check(crowd))
    _tell("reduced scope: the 100 holders", 100, 10, full_check(few))


def _with_idle(state: State, idle: int) -> State:
    m = len(state.available)
    return State(
        state.available,
        (*state.maximum, *((1,) * m,) * idle),
        (*state.allocation, *((0,) * m,) * idle),
    )


def _tell(what: str, n: int, m: int, figures: Figures) -> None:
    print(f"{what:34}{n:7,}{m:4}{figures[0]:12.4f}{figures[1]:10.4f}", flush=True)


if __name__ == "__main__":
    main()
