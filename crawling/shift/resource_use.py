"""What a shift uses of each class that it was granted, measured."""

from __future__ import annotations

import time
from collections.abc import Callable

from crawling.process.memory_limit import MIB, resident_bytes
from crawling.web.fetch.bandwidth import Bandwidth
from crawling.web.fetch.memory_budget import MemoryBudget
from crawling.web.fetch.progress import FetchStep, ProgressBoard

KIB = 1024


class ResourceUse:
    """Read by the shift's own thread, about once a second.

    look_ups: of names under way. has_archive: whether an archive file is open.
    """

    def __init__(
        self,
        board: ProgressBoard,
        bandwidth: Bandwidth,
        room: MemoryBudget,
        *,
        look_ups: Callable[[], int],
        has_archive: Callable[[], bool],
    ) -> None:
        self._board, self._bandwidth, self._room = board, bandwidth, room
        self._look_ups, self._has_archive = look_ups, has_archive
        self._began_with = resident_bytes()
        self._received, self._read_at = 0, time.monotonic()

    def read(self) -> dict[str, int]:
        """Units by class: of bandwidth the mean since the last time; of memory what the process has
        grown by, and what programs that read PDF may have.
        """
        now, received = time.monotonic(), self._bandwidth.taken
        rate = (received - self._received) / max(now - self._read_at, 1e-3)
        self._received, self._read_at = received, now
        grown = max(0, resident_bytes() - self._began_with) + self._room.taken
        at_work = [line.step != FetchStep.WAITING_FOR_HOST for line in self._board.lines().values()]
        return {
            "worker": 1,
            "fetch_slots": sum(at_work),
            "bandwidth": round(rate / KIB),
            "memory": round(grown / MIB),
            "dns_slots": self._look_ups(),
            "archive_writers": int(self._has_archive()),
        }
