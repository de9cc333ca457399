"""The paper's searches over all requests, which an experiment compares with the one in use (SEEDS
P6). Pure.

*Recursion over the request set*: a process that can finish is taken, and the search goes on from
there. **Global** looks at every process again at each step, those that finished too; **uncovered**
only at those not covered yet. Both take a process as soon as it fits, and Work only grows, so
neither ever has to go back: the recursion is a loop. Both give the same answer. Global repeats
comparisons whose result cannot change: n in each of n steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from allocation.rules.banker import State, fits, plus


def search_globally(state: State) -> list[int]:
    """The processes that can finish. Each step examines all processes, beginning with the first."""
    return _search_in_scope(state, lambda covered: range(len(state.need)))


def search_uncovered(state: State) -> list[int]:
    """The processes that can finish. Each step examines only those not covered yet, beginning with
    the first.
    """
    left = dict.fromkeys(range(len(state.need)))

    def uncovered_processes(covered: list[int]) -> Iterable[int]:
        for i in covered[-1:]:
            del left[i]
        return left

    return _search_in_scope(state, uncovered_processes)


def _search_in_scope(state: State, scope: Callable[[list[int]], Iterable[int]]) -> list[int]:
    work, covered, done = state.available, list[int](), set[int]()
    while True:
        found = next(
            (i for i in scope(covered) if fits(state.need[i], work) and i not in done), None
        )
        if found is None:
            return covered
        covered.append(found)
        done.add(found)
        work = plus(work, state.allocation[found])
