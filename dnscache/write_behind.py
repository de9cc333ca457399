"""Writes what was learnt behind the look-ups, by the batch, for processes that live long."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection

from django.db import InterfaceError, OperationalError, connection

from dnscache import store
from dnscache.regions.entry import CachedAnswer

logger = logging.getLogger(__name__)

#: the most that a crash can lose, unless the caller is in more of a hurry
EVERY_SECONDS = 1.0
#: rows a statement; more at a time are no faster
BATCH = 500


class WriteBehind:
    """Takes entries from any thread, and writes them from one of its own at most so much later, or
    as soon as a batch is full.

    While PostgreSQL is away they wait; only the newest entry of a name is kept. Without `start`,
    `flush` writes.
    """

    def __init__(self, *, every_seconds: float = EVERY_SECONDS) -> None:
        self._every_seconds = every_seconds
        self._dirty: dict[str, CachedAnswer] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="dns-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write what is left and end."""
        self._closing = True
        self._wake.set()
        self._thread.join()

    def write_entries(self, entries: Collection[CachedAnswer]) -> None:
        """Take the entries; nothing waits for PostgreSQL here."""
        with self._lock:
            self._dirty.update((entry.name, entry) for entry in entries)
            full = len(self._dirty) >= BATCH
        if full:
            self._wake.set()

    def flush(self) -> None:
        """Write everything taken so far, a batch a statement; what can't be written now is kept for
        the next time.
        """
        with self._lock:
            dirty, self._dirty = self._dirty, {}
        names = list(dirty)
        for start in range(0, len(names), BATCH):
            try:
                store.write_entries([dirty[name] for name in names[start : start + BATCH]])
            except (OperationalError, InterfaceError) as error:
                logger.warning(
                    "answers not written yet",
                    extra={"count": len(names) - start, "error": str(error)},
                )
                connection.close()
                with self._lock:
                    self._dirty = {name: dirty[name] for name in names[start:]} | self._dirty
                return

    def _work(self) -> None:
        try:
            while not self._closing:
                self._wake.wait(self._every_seconds)
                self._wake.clear()
                self.flush()
            self.flush()
        finally:
            connection.close()
