"""Remedies: changes that would make an unsafe state safe again, and releases that would end a wait.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

from allocation.rules import banker
from allocation.rules.banker import State, Vector


def stuck(state: State) -> list[int]:
    """The rows that could not be sure to finish."""
    finish = set(banker.finishable(state))
    return [i for i in range(len(state.maximum)) if i not in finish]


def missing_units(state: State) -> Vector:
    """Units by class that, if added, let every process finish; nothing if the state is safe.

    The stuck process that lacks the least is helped first, and what it then gives back counts for
    the others. Fewer units may do where several classes are short.
    """
    missing = (0,) * len(state.available)
    while left := stuck(
        more := State(banker.plus(state.available, missing), state.maximum, state.allocation)
    ):
        missing = banker.plus(missing, min((_lack(more, i) for i in left), key=sum))
    return missing


def claims_too_high(state: State) -> dict[int, Vector]:
    """By how much the claims of which rows would have to fall for all processes to finish.

    Likewise, not always the least.
    """
    lower: dict[int, Vector] = {}
    maximum = list(state.maximum)
    while left := stuck(less := State(state.available, tuple(maximum), state.allocation)):
        i = min(left, key=lambda row: sum(_lack(less, row)))
        lower[i] = _lack(less, i)
        maximum[i] = banker.minus(maximum[i], lower[i])
    return lower


def _lack(state: State, row: int) -> Vector:
    """The Need of a row beyond the units that are sure to be released."""
    work = banker.work_vectors(state, banker.finishable(state))[-1]
    return tuple(max(0, need - free) for need, free in zip(state.need[row], work, strict=True))


#: holders of which each alone is tried, and of which each two are
ALONE, IN_PAIRS = 30, 10


def cheapest_release(
    costs: Mapping[int, float], ends_wait: Callable[[frozenset[int]], bool]
) -> tuple[int, ...]:
    """Which holders would end a wait if they gave back all: as few as possible, of those the
    cheapest; empty if not even all of them would.

    Of many that are needed together it is a set that lacks none, and perhaps not the cheapest.
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
