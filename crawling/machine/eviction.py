"""Bounded dictionaries, in which a process keeps recent items."""

from __future__ import annotations

from itertools import islice
from typing import Any, TypeVar

K = TypeVar("K")
#: the divisor of a dictionary's size for the number of entries that are removed at once
PORTION = 16


def forget_oldest(kept: dict[K, Any], most: int) -> list[K]:
    """Remove the oldest entries if there are more than `most`. Return their keys.

    A sixteenth of the entries is removed at once, since finding the first key is slow: Python skips
    the places of all removed keys, which takes 0.1 ms in a dictionary of 200,000 entries.
    """
    if len(kept) <= most:
        return []
    gone = list(islice(kept, len(kept) - most + most // PORTION))
    for key in gone:
        del kept[key]
    return gone
