"""Decide whether a request may be granted, so that no set of processes can ever deadlock.

Pure: numbers in, a verdict out.

The Banker's algorithm (Dijkstra, EWD 108 and 623; SEEDS A2-A6), with the early exit of Habermann
(CACM 12(7), 1969; SEEDS P6): once the state before a request is known to be safe, the state after
it is safe exactly if the requester can finish. Proof: let D be the processes that finish before the
requester. Then Work includes all free units of the old state and all units that D and the requester
held, so the others can follow in their old safe order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import chain
from operator import le, sub
from typing import Any

from allocation.errors import RequestExceedsNeed
from allocation.rules import safety
from allocation.rules.safety import Vector, fits, plus

__all__ = [
    "BankVerdict",
    "Decision",
    "Matrix",
    "State",
    "Vector",
    "decide",
    "decide_with_evidence",
    "find_safe_sequence",
    "finishable_processes",
    "fits",
    "minus",
    "plus",
    "state_after_grant",
    "state_with_process",
    "work_vectors",
]

Matrix = tuple[Vector, ...]


class BankVerdict(Enum):
    """The answer to a request that its process was entitled to make."""

    GRANT = "grant"
    WAIT_UNAVAILABLE = "wait_unavailable"
    WAIT_UNSAFE = "wait_unsafe"


@dataclass(frozen=True)
class State:
    """A state of n processes and m classes.

    Raises ValueError if a shape or a bound is violated, or if a number is not an int.
    """

    #: length m
    available: Vector
    #: n x m, with a row for each process
    maximum: Matrix
    #: n x m; 0 <= allocation <= maximum
    allocation: Matrix

    def __post_init__(self) -> None:
        available = _vector("available", self.available, length=None)
        maximum, allocation = (
            _matrix(name, getattr(self, name), length=len(available))
            for name in ("maximum", "allocation")
        )
        if len(maximum) != len(allocation):
            raise ValueError(f"maximum has {len(maximum)} rows, allocation has {len(allocation)}")
        if not all(map(le, chain.from_iterable(allocation), chain.from_iterable(maximum))):
            i = next(
                i
                for i, (held, most) in enumerate(zip(allocation, maximum, strict=True))
                if not fits(held, most)
            )
            raise ValueError(
                f"process {i} holds {allocation[i]}, more than its maximum {maximum[i]}"
            )
        self.__dict__.update(available=available, maximum=maximum, allocation=allocation)

    @classmethod
    def from_arrays(cls, available: Any, maximum: Any, allocation: Any) -> State:
        """Build a State from numpy arrays or nested sequences of whole numbers."""
        return cls(_as_tuples(available), _as_tuples(maximum), _as_tuples(allocation))

    @classmethod
    def from_checked(
        cls, available: Vector, maximum: Matrix, allocation: Matrix, need: Matrix
    ) -> State:
        """Build a State from numbers that other States have already checked. need: maximum -
        allocation.
        """
        state = object.__new__(cls)
        state.__dict__.update(
            available=available, maximum=maximum, allocation=allocation, need=need
        )
        return state

    @cached_property
    def need(self) -> Matrix:
        """The units that each process may still request: maximum - allocation."""
        return tuple(
            minus(most, held) for most, held in zip(self.maximum, self.allocation, strict=True)
        )

    @cached_property
    def columns(self) -> safety.Columns | None:
        """Need and Allocation as arrays; None if the full check is faster without arrays."""
        return safety.as_columns(self.available, self.need, self.allocation)


@dataclass(frozen=True)
class Decision:
    """A verdict with its evidence: processes that can finish, in an order in which they can finish.

    For a grant by early exit the order ends with the requester. After WAIT_UNSAFE the missing
    processes would be stuck.
    """

    verdict: BankVerdict
    sequence: tuple[int, ...] = ()


def find_safe_sequence(state: State) -> list[int] | None:
    """Return an order in which every process can finish, or None if the state is unsafe.

    Equal states give equal answers. Small states are searched by repeated passes in row order.
    Takes at most O(n m log n) besides 16 rounds of O(n m): see `allocation.rules.safety`.
    """
    order = finishable_processes(state)
    return order if len(order) == len(state.maximum) else None


def decide(
    state: State, process: int, request: Sequence[int], *, state_is_safe: bool = True
) -> BankVerdict:
    """Return whether `process` (a row of `state`) may have `request` now (SEEDS A3).

    The state is never changed.

    state_is_safe: whether the state before the request is safe. If not, a request is granted if the
    full check passes afterwards, or if the process can finish with the free units alone. Raises
    RequestExceedsNeed if the process did not declare that much.
    """
    return decide_with_evidence(state, process, request, state_is_safe=state_is_safe).verdict


def decide_with_evidence(
    state: State,
    process: int,
    request: Sequence[int],
    *,
    state_is_safe: bool = True,
    search: Callable[[State], Sequence[int]] | None = None,
) -> Decision:
    """Decide as `decide` does, and keep the evidence.

    search: finds all processes that can finish; None to search only up to the requester.
    """
    if not 0 <= process < len(state.maximum):
        raise IndexError(f"there is no process {process} among {len(state.maximum)}")
    wanted = _vector("request", request, length=len(state.available))
    if not fits(wanted, state.need[process]):
        raise RequestExceedsNeed(process=process, request=wanted, need=state.need[process])
    if not fits(wanted, state.available):
        return Decision(BankVerdict.WAIT_UNAVAILABLE)

    if fits(state.need[process], state.available):
        return Decision(BankVerdict.GRANT, (process,))
    after = state_after_grant(state, process, wanted)
    if search is not None:
        order = list(search(after))
        is_enough = len(order) == len(after.maximum)
        return Decision(BankVerdict.GRANT if is_enough else BankVerdict.WAIT_UNSAFE, tuple(order))
    # from an unsafe state the early exit would give a wrong answer in about a fifth of random cases
    order = finishable_processes(after, until=process if state_is_safe else None)
    enough = process in order if state_is_safe else len(order) == len(after.maximum)
    return Decision(BankVerdict.GRANT if enough else BankVerdict.WAIT_UNSAFE, tuple(order))


def finishable_processes(state: State, *, until: int | None = None) -> list[int]:
    """Return the processes that can finish, in the order in which they are found. Stop as soon as
    `until` is among them.
    """
    if state.columns is None:
        return safety.search_by_passes(state.available, state.need, state.allocation, until)
    return safety.search_by_rounds(state.available, state.columns, until)


def work_vectors(state: State, sequence: Iterable[int]) -> list[Vector]:
    """Return the Work available to each process of `sequence`, and finally the units that are free
    when all of them have finished.

    Raises ValueError if one of them needs more than this Work, so that the sequence proves nothing.
    """
    work = [state.available]
    for i in sequence:
        if not fits(state.need[i], work[-1]):
            raise ValueError(f"process {i} needs {state.need[i]}, more than the Work {work[-1]}")
        work.append(plus(work[-1], state.allocation[i]))
    return work


def state_after_grant(state: State, process: int, request: Vector) -> State:
    """Return the state in which `process` also holds `request` (SEEDS A3, step 3).

    Raises ValueError if the process may not hold it.
    """
    if not fits(request, state.available) or not fits(request, state.need[process]):
        raise ValueError(f"{request} is more than process {process} needs or than there is")
    # only one row changes, and the numbers stay valid; checking and converting all rows again would
    # take longer than the search
    after = copy(state)
    held, need = list(state.allocation), list(state.need)
    held[process], need[process] = plus(held[process], request), minus(need[process], request)
    after.__dict__.update(
        available=minus(state.available, request), allocation=tuple(held), need=tuple(need)
    )
    if state.columns is not None:
        after.__dict__["columns"] = state.columns.granted(process, request)
    return after


def state_with_process(state: State, maximum: Vector, allocation: Vector) -> State:
    """Return the state with one more process, as its last row. Raises the ValueErrors of State."""
    one, after = State(state.available, (maximum,), (allocation,)), copy(state)
    after.__dict__.pop("columns", None)
    after.__dict__.update(
        maximum=state.maximum + one.maximum,
        allocation=state.allocation + one.allocation,
        need=state.need + one.need,
    )
    return after


def minus(a: Vector, b: Vector) -> Vector:
    if len(a) != len(b):
        safety.check_lengths(a, b)
    return tuple(map(sub, a, b))


def _matrix(name: str, rows: Iterable[Iterable[int]], *, length: int) -> Matrix:
    """The rows as tuples.

    All rows are checked at once: checks row by row took longer than the search for a hundred
    holders.
    """
    matrix = tuple(map(tuple, rows))
    numbers = list(chain.from_iterable(matrix))
    if not (set(map(len, matrix)) <= {length} and _are_whole_numbers(numbers)):
        for i, row in enumerate(matrix):
            _vector(f"{name}[{i}]", row, length=length)
    return matrix


def _vector(name: str, values: Iterable[int], *, length: int | None) -> Vector:
    vector = tuple(values)
    if length is not None and len(vector) != length:
        raise ValueError(f"{name} has {len(vector)} entries, but there are {length} classes")
    if not _are_whole_numbers(vector):
        raise ValueError(f"{name} must hold whole numbers from 0 up, not {vector}")
    return vector


def _are_whole_numbers(numbers: Sequence[int]) -> bool:
    """Whether all are of type int (which bool is not) and none is negative."""
    return set(map(type, numbers)) <= {int} and min(numbers, default=0) >= 0


def _as_tuples(values: Any) -> Any:
    """Arrays and sequences as tuples; numbers unchanged."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    return tuple(_as_tuples(value) for value in values) if isinstance(values, Sequence) else values
