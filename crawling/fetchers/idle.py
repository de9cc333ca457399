"""Connections that wait for the next request to their site."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from crawling.fetchers.wire import Connection

#: sites whose connections are kept open; those of the least recently used are closed
MOST_SITES = 256
#: idle connections kept for one site; politeness asks for one request at a time
MOST_OF_A_SITE = 2


class Idle:
    """By whatever tells one site from another. Shared by any number of threads."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, list[Connection]] = OrderedDict()
        self._lock = threading.Lock()

    def __del__(self) -> None:
        self.clear()  # whoever leaves a session to be collected leaves no socket open

    def take(self, site: Hashable) -> Connection | None:
        """One that can be used; those that the server has closed meanwhile, or said something over, are let go."""
        while connection := self._pop(site):
            if connection.is_quiet:
                return connection
            connection.close()
        return None

    def _pop(self, site: Hashable) -> Connection | None:
        with self._lock:
            waiting = self._waiting.get(site)
            return waiting.pop() if waiting else None

    def keep(self, site: Hashable, connection: Connection) -> None:
        with self._lock:
            self._waiting.setdefault(site, []).append(connection)
            self._waiting.move_to_end(site)
            leaving = self._waiting[site][:-MOST_OF_A_SITE]
            del self._waiting[site][:-MOST_OF_A_SITE]
            if len(self._waiting) > MOST_SITES:
                leaving += self._waiting.popitem(last=False)[1]
        for each in leaving:
            each.close()

    def clear(self) -> None:
        """Close all."""
        with self._lock:
            waiting, self._waiting = self._waiting, OrderedDict()
        for connections in waiting.values():
            for connection in connections:
                connection.close()
