"""Spares the database most of the links it has already seen (SEEDS W11). Exact: it only ever says no to what it was told."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from crawling.rules.addresses import Address

CAPACITY = 200_000


class Seen:
    """The URLs a shift has handed to the frontier, the latest CAPACITY of them; shared by its toes."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._urls: dict[str, None] = {}

    def unseen(self, addresses: Iterable[Address]) -> list[Address]:
        """Return those not told of before, and remember them; one told of again counts as fresh."""
        new = []
        with self._lock:
            for address in addresses:
                if address.url not in self._urls:
                    new.append(address)
                else:
                    del self._urls[address.url]  # put back at the end: popular URLs stay
                self._urls[address.url] = None
            while len(self._urls) > self._capacity:
                del self._urls[next(iter(self._urls))]
        return new
