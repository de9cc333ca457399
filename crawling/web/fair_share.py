"""How toes are shared out among hosts: one that keeps a toe for long lets the others go first for a
while.
"""

from __future__ import annotations

#: where others wait for a toe, no host has more of them than this part of their time
LARGEST_SHARE = 1 / 40
#: whoever needs a toe for no longer than this lets nobody go first: hosts come in turn anyway
SHORT_SECONDS = 2.0


def penalty_seconds(held: float, toes: int) -> float:
    """For how long a host that has kept one of so many toes for so long lets others go first."""
    if held <= SHORT_SECONDS:
        return 0.0
    return held * max(0.0, 1 / (LARGEST_SHARE * max(1, toes)) - 1)
