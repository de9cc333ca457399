"""Requests that wait for a name; they are served in order, except that those with a cached name may
go first (SEEDS D11, D12). Pure.

The patent repeatedly swaps a request that misses with a later one that hits, so the first may
starve. Here a request that is overtaken keeps its place and is overtaken a few times at most, and
only a limited number of later requests are looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from typing import Generic, TypeVar

WINDOW = 32
MOST_OVERTAKEN = 16
LONGEST_WAIT_SECONDS = 5.0

R = TypeVar("R")


class TurnKind(Enum):
    HIT = auto()
    SWAPPED = auto()
    DIRECT = auto()


@dataclass(slots=True)
class Waiting(Generic[R]):
    request: R
    name: str
    since: float
    overtaken: int = 0


class RequestQueue(Generic[R]):
    """Requests, served first come, first served, with a limited number of swaps. For one thread at
    a time.
    """

    def __init__(self) -> None:
        self._queue: deque[Waiting[R]] = deque()
        self.turns = dict.fromkeys(TurnKind, 0)
        self.most_overtaken = 0

    def __len__(self) -> int:
        return len(self._queue)

    def submit(self, request: R, name: str, now: float) -> None:
        self._queue.append(Waiting(request, name, now))

    def take_next(self, is_cached: Callable[[str], bool], now: float) -> tuple[R, TurnKind] | None:
        """Take the next request, as HIT or SWAPPED (from the cache) or DIRECT (by a look-up). None
        if no request waits.
        """
        if not self._queue:
            return None
        head = self._queue[0]
        if is_cached(head.name):
            return self._take_request(0, TurnKind.HIT)
        if head.overtaken < MOST_OVERTAKEN and now - head.since < LONGEST_WAIT_SECONDS:
            for place, later in islice(enumerate(self._queue), 1, WINDOW + 1):
                if is_cached(later.name):
                    return self._take_request(place, TurnKind.SWAPPED)
        return self._take_request(0, TurnKind.DIRECT)

    def _take_request(self, place: int, turn: TurnKind) -> tuple[R, TurnKind]:
        for overtaken in islice(self._queue, place):
            overtaken.overtaken += 1
            self.most_overtaken = max(self.most_overtaken, overtaken.overtaken)
        taken = self._queue[place]
        del self._queue[place]
        self.turns[turn] += 1
        return taken.request, turn
