"""States to measure on, built from seeds."""

from __future__ import annotations

from random import Random

from allocation.rules.banker import State, fits, minus, plus


def random_state(n: int, m: int, seed: int = 1) -> State:
    """Random claims of 1 to 10 and holdings within them, and just as much available as makes one
    hidden order safe.
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
    """The worst case: each process frees only the next, they are listed backwards, and differ in
    the last class alone.
    """
    rest = (0,) * (m - 1)
    return State(
        (*rest, 1), tuple((*rest, 1 + n - i) for i in range(n)), tuple((*rest, 1) for _ in range(n))
    )


def reduced(state: State) -> State:
    """The paper's reduced scope, as a variant to measure by itself (SEEDS P6): the state of those
    that hold something. Safe exactly if `state` is, as long as every claim fits the capacity.

    A process that holds nothing gives nothing back, so it helps no other, and can finish once all
    others have: its claim fits the capacity.
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
