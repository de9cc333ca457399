"""Keeps a shift's leases alive, in the pool and on its hosts, in a thread that no page can
block.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import partial

from django.conf import settings
from django.db import OperationalError, connections

from allocation.services import renew_lease
from crawling.frontier import renew_hosts
from crawling.machine.vitals import VITALS

logger = logging.getLogger(__name__)

#: a clock that runs on while a machine sleeps, as PostgreSQL's does, on systems that have one
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
#: the part of a lease after which no more requests are made
SAFE_PART = 5 / 6


class LeaseThread:
    """Renews the leases at a third of their length.

    `is_lost` becomes true once the pool says so, or when renewals failed for almost a whole lease.

    Requests to remote sites cannot be refused later, so a shift must stop by its own clock before
    others may treat it as dead.
    """

    def __init__(self, *, process_id: int, epoch: int, worker: str, shift_id: int) -> None:
        self._renew_in_bank = partial(renew_lease, process=process_id, epoch=epoch, worker=worker)
        self._shift_id = shift_id
        self._ended = threading.Event()
        self._lost = False
        self._tried_at = time.monotonic()
        self._until = time.clock_gettime(CLOCK) + settings.BANK_LEASE_SECONDS * SAFE_PART
        self._thread = threading.Thread(target=self._work, name="lease", daemon=True)
        self._thread.start()

    @property
    def is_lost(self) -> bool:
        """Whether the lease is lost. Cheap enough for any thread to call before each request."""
        return self._lost or time.clock_gettime(CLOCK) > self._until

    def close(self) -> None:
        self._ended.set()
        self._thread.join(5)

    def _work(self) -> None:
        try:
            while not self._ended.wait(settings.BANK_LEASE_SECONDS / 12):
                VITALS.beat()
                if time.monotonic() - self._tried_at > settings.BANK_LEASE_SECONDS * 0.3:
                    VITALS.beat(is_asking=True)
                    self._renew()
                    VITALS.beat()
        finally:
            connections.close_all()

    def _renew(self) -> None:
        self._tried_at = time.monotonic()
        until = time.clock_gettime(CLOCK) + settings.BANK_LEASE_SECONDS * SAFE_PART
        try:
            if self._renew_in_bank():
                renew_hosts(self._shift_id, settings.BANK_LEASE_SECONDS)
                self._until = until
            else:
                self._lost = True
                self._ended.set()
        # for example, PostgreSQL restarts: the next turn tries again
        except (OperationalError, MemoryError) as error:
            logger.warning("lease not renewed", extra={"error": str(error)})
            connections.close_all()
