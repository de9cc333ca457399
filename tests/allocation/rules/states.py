"""Random and worst-case states, made from seeds: much faster than a search for counterexamples, and
of any size.
"""

from __future__ import annotations

from itertools import permutations
from random import Random

from allocation.rules.banker import State
from tests.allocation.rules.test_banker import is_order


def small(random: Random, most: int = 5) -> State:
    """Up to `most` processes and 4 classes; about half of them safe."""
    n, m = random.randint(0, most), random.randint(1, 4)
    allocation = [tuple(random.randint(0, 4) for _ in range(m)) for _ in range(n)]
    maximum = [tuple(held + random.randint(0, 4) for held in row) for row in allocation]
    return State(tuple(random.randint(0, 4) for _ in range(m)), tuple(maximum), tuple(allocation))


def chain(n: int, m: int, free: int = 1) -> State:
    """A state in which each process frees only the next one; the processes are listed backwards,
    and differ only in the last class.
    """
    rest = (0,) * (m - 1)
    return State(
        (*rest, free),
        tuple((*rest, 1 + n - i) for i in range(n)),
        tuple((*rest, 1) for _ in range(n)),
    )


def some_order_finishes(state: State) -> bool:
    return any(is_order(state, order) for order in permutations(range(len(state.maximum))))
