"""The search of the full check (SEEDS A5): who can finish, in which order. Pure.

Any process whose Need fits Work may be taken next, because Work only grows; so the three ways to
search agree on who finishes and differ only in the order they find and in their cost:

- *passes* in row order, O(n m) each and at most n of them: the least overhead, and the order of the
  textbooks;
- *rounds*, which take all that fit at once, as a few operations on whole arrays. Ordinary states
  end in 2 to 5 rounds;
- *pointers* (Holt, Computing Surveys 4(3), 1972): the processes sorted by Need in each class and a
  pointer into each order that moves up as Work grows, O(n m log n) in all. It wins where each
  process frees only the next: the chains on which passes and rounds are quadratic.

States of fewer than VECTOR_PROCESSES processes take passes. Larger ones take up to ROUNDS rounds,
and what those leave, pointers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from operator import add, le

import numpy as np
from numpy.typing import NDArray

Vector = tuple[int, ...]
Rows = Sequence[Vector]
Array = NDArray[np.int64]

#: From this number on rounds are faster than passes on ordinary states, including the time for
#: making the arrays. Measured for m = 1, 4, 10 and 50, the times cross between n = 15 and 25. At n
#: = 100, m = 10 passes take 0.15 ms and rounds 0.07; at n = 1000, 1.8 and 0.7, of which 0.1 once
#: the arrays are made. The chain of n = 1000 takes 2.6 ms, that of n = 10,000 46 ms.
VECTOR_PROCESSES = 25
ROUNDS = 16


@dataclass(frozen=True)
class Columns:
    """Need and Allocation as arrays, n x m."""

    need: Array
    allocation: Array

    def granted(self, process: int, request: Vector) -> Columns:
        """The arrays after `process` has got `request`."""
        need, allocation = self.need.copy(), self.allocation.copy()
        need[process] -= request
        allocation[process] += request
        return Columns(need, allocation)


def as_columns(available: Vector, need: Rows, allocation: Rows) -> Columns | None:
    """The matrices as arrays. None if passes are faster, or a sum of units could overflow."""
    if len(need) < VECTOR_PROCESSES or not available:
        return None
    try:
        made = Columns(np.array(need, dtype=np.int64), np.array(allocation, dtype=np.int64))
    except OverflowError:
        return None
    most = max(*available, int(made.allocation.max()))
    return made if most * (len(need) + 1) <= np.iinfo(np.int64).max else None


def search_by_passes(
    work: Vector, need: Rows, allocation: Rows, until: int | None = None
) -> list[int]:
    """Go through the rows repeatedly, until a pass finds no further process."""
    unfinished, order = list(range(len(need))), list[int]()
    while unfinished:
        stuck = []
        for i in unfinished:
            if not fits(need[i], work):
                stuck.append(i)
                continue
            work = plus(work, allocation[i])
            order.append(i)
            if i == until:
                return order
        if len(stuck) == len(unfinished):
            break
        unfinished = stuck
    return order


def search_by_rounds(
    available: Vector, matrices: Columns, until: int | None = None, rounds: int = ROUNDS
) -> list[int]:
    """Take all processes that fit at once, up to `rounds` times. If processes are left then,
    pointers are used.
    """
    work, left = np.array(available, dtype=np.int64), np.arange(len(matrices.need))
    need, order = matrices.need, list[int]()
    for _ in range(rounds):
        fit = (need <= work).all(axis=1)
        ready = left[fit]
        if until is not None and (ready == until).any():
            return [*order, until]
        order += ready.tolist()
        if not len(ready) or len(ready) == len(left):
            return order
        work = work + matrices.allocation[ready].sum(axis=0)
        left, need = left[~fit], need[~fit]
    return order + _search_by_pointers(work, left, need, matrices.allocation[left], until)


def _search_by_pointers(
    work: Array, rows: Array, needs: Array, held: Array, until: int | None
) -> list[int]:
    """Rows of `needs` and `held` are processes; `rows` has their numbers.

    A process is ready once every class lets it pass.
    """
    ids, allocation, free = rows.tolist(), held.tolist(), work.tolist()
    sorted_by = [column.tolist() for column in np.argsort(needs, axis=0, kind="stable").T]
    thresholds = [column.tolist() for column in np.sort(needs, axis=0).T]
    pointers, missing = [0] * len(free), [len(free)] * len(ids)
    ready, order = deque[int](), list[int]()
    grown: Sequence[int] = range(len(free))
    while True:
        for j in grown:
            at, threshold, units = pointers[j], thresholds[j], free[j]
            while at < len(threshold) and threshold[at] <= units:
                i = sorted_by[j][at]
                missing[i] -= 1
                if not missing[i]:
                    ready.append(i)
                at += 1
            pointers[j] = at
        if not ready:
            return order
        finished = ready.popleft()
        order.append(ids[finished])
        if ids[finished] == until:
            return order
        grown = [j for j, units in enumerate(allocation[finished]) if units]
        for j in grown:
            free[j] += allocation[finished][j]


def fits(a: Vector, b: Vector) -> bool:
    """Whether a <= b in every class.

    (Comparing tuples with <= would be lexicographic, and wrong.)
    """
    if len(a) != len(b):  # no call, since this runs thousands of times for a page
        check_lengths(a, b)
    return all(map(le, a, b))


def plus(a: Vector, b: Vector) -> Vector:
    if len(a) != len(b):
        check_lengths(a, b)
    return tuple(map(add, a, b))


def check_lengths(a: Vector, b: Vector) -> None:
    """Raise ValueError if the lengths differ, since map() silently stops at the shorter one."""
    if len(a) != len(b):
        raise ValueError(f"{a} and {b} are of different lengths")
