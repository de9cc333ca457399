"""Detects processes that are truly deadlocked, and not just slow. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from allocation.rules.banker import Vector, fits, plus

P = TypeVar("P", bound=Hashable)


def deadlocked_processes(
    available: Vector, allocation: Mapping[P, Vector], waiting: Mapping[P, Vector]
) -> frozenset[P]:
    """Return the waiting processes whose requests cannot be met even when all processes that can
    finish have given everything back.

    `allocation` is what each holds; `waiting` the amounts that waiting processes request. A process
    that does not wait is at work and will finish; a waiting one that could be served is assumed to
    finish after that. (Coffman, Elphick and Shoshani, 1971, section 4.)
    """
    nothing = (0,) * len(available)
    work = available
    for process, held in allocation.items():
        if process not in waiting:
            work = plus(work, held)
    stuck = dict(waiting)
    while served := [process for process, wanted in stuck.items() if fits(wanted, work)]:
        for process in served:
            work = plus(work, allocation.get(process, nothing))
            del stuck[process]
    return frozenset(stuck)
