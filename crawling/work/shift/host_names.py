"""Visits on their way to the workbench: each is put there with its host's addresses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from crawling.web.addresses import LOCAL_FILES, dns_name
from crawling.work.pipeline.visit import Visit
from crawling.work.shift.name_thread import OF_FILES, NameThread, host_of
from crawling.work.shift.workbench import Workbench
from dnscache.preresolver.gate import settled
from dnscache.resolver import resolve


class HostNames:
    """Used by the shift's own thread only."""

    def __init__(self, bench: Workbench, dns_slots: Callable[[], int]) -> None:
        self._bench = bench
        self._thread = NameThread(bench.put, dns_slots)

    def check(self) -> None:
        """Raise RuntimeError if names are not resolved any more."""
        if not self._thread.is_alive:
            raise RuntimeError(
                "the thread that resolves names has ended; the worker's log says why"
            )

    def waiting(self) -> int:
        return self._thread.waiting

    def under_way(self) -> int:
        return self._thread.under_way

    def write_counts(self) -> None:
        """Store how many names were at hand and how many were looked up."""
        self._thread.counter.tell()

    def bring(self, visits: Sequence[Visit]) -> None:
        """Put visits on the workbench. Answers are read for all at once; an unsettled name is
        looked up meanwhile, and its host comes later.
        """
        now = time.monotonic()
        outdated = {
            visit: dns_name(visit.host.name) for visit in visits if not visit.route.is_current(now)
        }
        found = settled({name for name in outdated.values() if name})
        for visit in visits:
            if visit.host.name == LOCAL_FILES:
                visit.route.resolve(OF_FILES)
            elif visit in outdated:
                name = outdated[visit]
                # an address, which needs no lookup
                resolution = found.get(name) if name else resolve(host_of(visit))
                if not resolution:
                    self._thread.ask(visit)
                    continue
                visit.route.resolve(resolution)
                self._thread.counter.note(resolution, 0.0)
            self._bench.put(visit)

    def close(self) -> None:
        self._thread.close()
        self._thread.counter.tell()
