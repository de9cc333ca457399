"""The state of a pool, and its deadlocked processes, which only pools without the safety
check have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from allocation.models import Pool, Request
from allocation.rules.banker import State, finishable_processes, plus
from allocation.snapshot import ProcessRow


def state_of(pool: Pool, processes: Sequence[ProcessRow]) -> State:
    return State(
        tuple(pool.available),
        tuple(one.maximum for one in processes),
        tuple(one.allocation for one in processes),
    )


def deadlocked_processes(
    pool: Pool, holders: Sequence[ProcessRow], requests: Iterable[Request]
) -> tuple[ProcessRow, ...]:
    """The holders that no release can serve, if each finishes once it has what it requests now: the
    detection algorithm is the safety check with requests in place of Need.
    """
    wanted = {request.process_id: tuple(request.amounts) for request in requests}
    nothing = (0,) * len(pool.available)
    state = State(
        tuple(pool.available),
        tuple(plus(one.allocation, wanted.get(one.id, nothing)) for one in holders),
        tuple(one.allocation for one in holders),
    )
    order = finishable_processes(state)
    return tuple(one for row, one in enumerate(holders) if row not in order)
