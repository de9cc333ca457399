"""The paper's reduced scope, as a variant to measure by itself (SEEDS P6).

Of all processes only those that hold something are searched. A process that holds nothing gives
nothing back, so it helps no other, and can finish once all others have: its claim fits the
capacity. The answer is the same, from fewer rows.
"""

from __future__ import annotations

from allocation.rules.banker import State


def reduced(state: State) -> State:
    """The state of those that hold something.

    Safe exactly if `state` is, as long as every claim fits the capacity.
    """
    rows = [i for i, held in enumerate(state.allocation) if any(held)]
    return State(
        state.available,
        tuple(state.maximum[i] for i in rows),
        tuple(state.allocation[i] for i in rows),
    )
