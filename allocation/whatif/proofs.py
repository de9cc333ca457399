"""Show the steps of the safety check: each comparison, every safe order of a small state, and the
check of reduced scope. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from allocation.rules import banker
from allocation.rules.banker import State, Vector

#: the most processes of a state all of whose orders are counted, which are 720 at most
FEW_PROCESSES = 6
MOST_ORDERS = 5
MOST_LOOKS = 150


@dataclass(frozen=True)
class SearchComparison:
    """One comparison of the search (SEEDS A5): whether the Need of a process fits into Work.

    If so, it finishes and Work grows.
    """

    process: int
    need: Vector
    work: Vector
    fits: bool
    work_after: Vector


@dataclass(frozen=True)
class Search:
    #: each examined process once, in the order of the first comparison
    looked_at: tuple[int, ...]
    #: the processes that can finish
    order: tuple[int, ...]
    #: the first MOST_LOOKS comparisons
    looks: tuple[SearchComparison, ...]
    #: the number of all comparisons
    comparisons: int
    #: the free units when the processes in `order` have finished
    work: Vector


@dataclass(frozen=True)
class Scopes:
    """The full check and the reduced one (SEEDS P6), both of the state `after` a request, or of a
    state alone.

    The reduced check is valid only if the state before was safe, and no claim exceeds the capacity.
    """

    full: Search
    reduced: Search
    full_says_safe: bool
    reduced_says_safe: bool
    was_safe: bool
    claims_fit: bool

    @property
    def may_reduce(self) -> bool:
        return self.was_safe and self.claims_fit

    @property
    def agree(self) -> bool:
        return self.full_says_safe == self.reduced_says_safe


def search_with_comparisons(
    state: State, rows: Sequence[int] | None = None, *, until: int | None = None
) -> Search:
    """Search a safe order among `rows` (all if None) in passes, as `banker.finishable_processes`
    does, and keep the comparisons.
    """
    rows = range(len(state.maximum)) if rows is None else rows
    order: list[int] = []
    looks: list[SearchComparison] = []
    met: dict[int, None] = {}
    work, comparisons = state.available, 0
    for look in _comparisons(state, rows):
        comparisons += 1
        met[look.process] = None
        if len(looks) < MOST_LOOKS:
            looks.append(look)
        if look.fits:
            order.append(look.process)
            work = look.work_after
            if look.process == until:
                break
    return Search(tuple(met), tuple(order), tuple(looks), comparisons, work)


def safe_orders(state: State) -> tuple[int, list[tuple[int, ...]]]:
    """The number of safe orders, and the first MOST_ORDERS of them.

    For states of at most FEW_PROCESSES.
    """
    count, shown = 0, []
    for order in _safe_orders_from(state, state.available, ()):
        count += 1
        if count <= MOST_ORDERS:
            shown.append(order)
    return count, shown


def check_in_both_scopes(state: State, process: int | None = None, request: Vector = ()) -> Scopes:
    """Check a state, or the state after a request, in full and in the reduced scope.

    In the reduced scope only processes that hold something are checked, and after a request the
    check ends once the requester can finish.
    """
    before = search_with_comparisons(state)
    after = state if process is None else banker.state_after_grant(state, process, request)
    full = before if process is None else search_with_comparisons(after)
    holders = [i for i, held in enumerate(after.allocation) if any(held) or i == process]
    reduced = search_with_comparisons(after, holders, until=process)
    everything = _total_units(state)
    return Scopes(
        full=full,
        reduced=reduced,
        full_says_safe=len(full.order) == len(after.maximum),
        reduced_says_safe=len(reduced.order) == len(holders)
        if process is None
        else process in reduced.order,
        was_safe=process is None or len(before.order) == len(state.maximum),
        claims_fit=all(banker.fits(most, everything) for most in state.maximum),
    )


def _total_units(state: State) -> Vector:
    everything = state.available
    for held in state.allocation:
        everything = banker.plus(everything, held)
    return everything


def _comparisons(state: State, rows: Sequence[int]) -> Iterator[SearchComparison]:
    work, unfinished = state.available, list(rows)
    while unfinished:
        stuck = []
        for i in unfinished:
            if banker.fits(state.need[i], work):
                after = banker.plus(work, state.allocation[i])
                yield SearchComparison(i, state.need[i], work, True, after)
                work = after
            else:
                yield SearchComparison(i, state.need[i], work, False, work)
                stuck.append(i)
        if len(stuck) == len(unfinished):
            return
        unfinished = stuck


def _safe_orders_from(
    state: State, work: Vector, order: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    if len(order) == len(state.maximum):
        yield order
        return
    for i, need in enumerate(state.need):
        if i not in order and banker.fits(need, work):
            yield from _safe_orders_from(state, banker.plus(work, state.allocation[i]), (*order, i))
