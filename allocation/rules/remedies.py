"""Remedies: changes that would make an unsafe state safe again, and releases that would end a wait.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

from allocation.rules import banker
from allocation.rules.banker import State, Vector


def stuck_processes(state: State) -> list[int]:
    """The rows that could not be sure to finish."""
    finish = set(banker.finishable_processes(state))
    return [i for i in range(len(state.maximum)) if i not in finish]


def missing_units(state: State) -> Vector:
    """Units by class with which, if added, every process can finish. Zero if the state is safe.

    The stuck process that lacks the fewest units gets them first; the units that it then releases
    count for the others. Fewer units may suffice if several classes have too few.
    """
    missing = (0,) * len(state.available)
    while left := stuck_processes(
        more := State(banker.plus(state.available, missing), state.maximum, state.allocation)
    ):
        missing = banker.plus(missing, min((_missing_units_for(more, i) for i in left), key=sum))
    return missing


def excess_claims(state: State) -> dict[int, Vector]:
    """For some rows, the amounts by which their claims would have to fall so that all processes can
    finish.

    These are not always the least possible amounts.
    """
    lower: dict[int, Vector] = {}
    maximum = list(state.maximum)
    while left := stuck_processes(less := State(state.available, tuple(maximum), state.allocation)):
        i = min(left, key=lambda row: sum(_missing_units_for(less, row)))
        lower[i] = _missing_units_for(less, i)
        maximum[i] = banker.minus(maximum[i], lower[i])
    return lower


def _missing_units_for(state: State, row: int) -> Vector:
    """The Need of a row beyond the units that are sure to be released."""
    work = banker.work_vectors(state, banker.finishable_processes(state))[-1]
    return tuple(max(0, need - free) for need, free in zip(state.need[row], work, strict=True))


#: the number of holders that are tried alone, and of those that are tried in pairs
ALONE, IN_PAIRS = 30, 10


def cheapest_release(
    costs: Mapping[int, float], ends_wait: Callable[[frozenset[int]], bool]
) -> tuple[int, ...]:
    """The holders whose complete release would end a wait: as few as possible, and of such sets the
    cheapest. Empty if even all releases together would not end it.

    If many are needed together, no holder in the set is superfluous, but the set may not be the
    cheapest.
    """
    ordered = sorted(costs, key=lambda one: (costs[one], one))
    for one in ordered[:ALONE]:
        if ends_wait(frozenset([one])):
            return (one,)
    pairs = combinations(ordered[:IN_PAIRS], 2)
    for pair in sorted(pairs, key=lambda pair: sum(costs[one] for one in pair)):
        if ends_wait(frozenset(pair)):
            return pair
    if not ends_wait(frozenset(ordered)):
        return ()
    chosen = set(ordered)
    for one in reversed(ordered):
        if ends_wait(frozenset(chosen - {one})):
            chosen.remove(one)
    return tuple(one for one in ordered if one in chosen)
