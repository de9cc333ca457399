"""Resolves the names of freshly leased hosts beside the toes, so that no toe waits for a name server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue

from django.db import InterfaceError, OperationalError, connections

from crawling.processors.visit import Visit
from crawling.rules.addresses import read_address
from dnscache.answers import Status
from dnscache.resolver import Resolution, Source, resolve_many

logger = logging.getLogger(__name__)

DEADLINE_SECONDS = 5.0
#: files have no host to be asked for
OF_FILES = Resolution("", Status.OK, (), 0, 0, Source.LITERAL, 0)


class NameThread:
    """Takes visits without an address and passes them on with one, in groups; look-ups in flight stay within dns_slots."""

    def __init__(self, deliver: Callable[[Visit], None], dns_slots: Callable[[], int]) -> None:
        self._deliver = deliver
        self._slots = dns_slots
        self._asked: SimpleQueue[Visit | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="names", daemon=True)
        self._thread.start()

    def ask(self, visit: Visit) -> None:
        self._asked.put(visit)

    def close(self) -> None:
        """End the thread after the group in hand; visits still waiting are dropped, their shift gives them back."""
        self._asked.put(None)

    def _work(self) -> None:
        try:
            while group := self._group():
                hosts = {visit: read_address(visit.urls[0].url).hostname for visit in group}
                found = self._resolve({host for host in hosts.values() if host})
                for visit, host in hosts.items():
                    visit.resolution = found[host] if host else OF_FILES
                    self._deliver(visit)
        finally:
            connections.close_all()

    def _resolve(self, names: set[str]) -> Mapping[str, Resolution]:
        try:
            return resolve_many(names, parallel=self._slots(), deadline=DEADLINE_SECONDS)
        except (OperationalError, InterfaceError) as error:  # PostgreSQL restarts, say: as if no name server had answered
            logger.warning("names not resolved", extra={"error": str(error)})
            connections.close_all()
            return {
                name: Resolution(name, Status.TIMEOUT, (), 0, 0, Source.LOOKUP, 0, "the cache of names was out of reach") for name in names
            }

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def _group(self) -> list[Visit]:
        """Everything that waits, at least one; empty when closed."""
        group: list[Visit] = []
        visit = self._asked.get()
        while visit is not None:
            group.append(visit)
            try:
                visit = self._asked.get_nowait()
            except Empty:
                return group
        return []
