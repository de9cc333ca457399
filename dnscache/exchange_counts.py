"""What came of asking name servers, counted in this process until the counts are written."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import Enum

#: address and port
Server = tuple[str, int]


class ExchangeOutcome(Enum):
    """How a server took the questions of a look-up: A and AAAA, or what was left of them."""

    #: all of them
    ANSWERED = "answered"
    #: one or both with an error, or without a listener
    FAILED = "failed"
    #: one or both not at all, in the time of a try
    SILENT = "silent"


@dataclass(slots=True)
class ExchangeCounts:
    """Of one server."""

    asked: int = 0
    answered: int = 0
    failed: int = 0
    silent: int = 0
    over_tcp: int = 0
    #: until the answers came, of those that came
    milliseconds: int = 0
    longest_ms: int = 0
    #: asked without a token taken before
    unpaid: int = 0


class ExchangeCounter:
    """Any thread notes; one takes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Server, ExchangeCounts] = {}

    def note(
        self, server: Server, outcome: ExchangeOutcome, milliseconds: int, *, is_paid: bool
    ) -> None:
        with self._lock:
            counts = self._counts.setdefault(server, ExchangeCounts())
            counts.asked += 1
            counts.unpaid += not is_paid
            counts.answered += outcome is ExchangeOutcome.ANSWERED
            counts.failed += outcome is ExchangeOutcome.FAILED
            counts.silent += outcome is ExchangeOutcome.SILENT
            if outcome is ExchangeOutcome.ANSWERED:
                counts.milliseconds += milliseconds
                counts.longest_ms = max(counts.longest_ms, milliseconds)

    def note_tcp(self, server: Server) -> None:
        """Count a question that was repeated over TCP."""
        with self._lock:
            self._counts.setdefault(server, ExchangeCounts()).over_tcp += 1

    def take(self) -> dict[Server, ExchangeCounts]:
        """Return what was noted since the last call."""
        with self._lock:
            counts, self._counts = self._counts, {}
        return counts
