"""Spares the database most links to URLs that it already has (SEEDS W11).

The answers are exact: a URL counts as seen only if it was added before.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

from crawling.machine.eviction import forget_oldest
from crawling.web.addresses import Address

CAPACITY = 200_000


class SeenUrls:
    """The latest CAPACITY URLs that a shift has handed to the frontier, with the least depth of
    each; shared by its fetch threads.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._depths: dict[str, int] = {}
        self._links: Counter[str] = Counter()

    def unseen_addresses(
        self, addresses: Iterable[Address], depth: int, *, are_links: bool = True
    ) -> list[Address]:
        """Return the addresses that were not added before at this depth or a lesser one. An address
        that is added again counts as recently used.

        are_links: the addresses are a page's links, so `take_links` counts the addresses that are
        not returned.
        """
        new, known = [], []
        with self._lock:
            depths = self._depths
            for address in addresses:
                url = address.url
                least = depths.pop(url, None)
                if least is None:
                    new.append(address)
                    continue
                depths[url] = least  # moved to the end, so that popular URLs stay
                if depth < least:
                    new.append(address)
                else:
                    known.append(url)
            if are_links:
                self._links.update(known)
        return new

    def remember(self, addresses: Iterable[Address], depth: int) -> None:
        """Note that these addresses go to the frontier now, at this depth."""
        with self._lock:
            for address in addresses:
                known = self._depths.pop(address.url, depth)
                self._depths[address.url] = min(known, depth)
            forget_oldest(self._depths, self._capacity)

    def take_links(self) -> Counter[str]:
        """For each URL that was not passed to the frontier again, the number of links since the
        last call.
        """
        with self._lock:
            taken, self._links = self._links, Counter()
        return taken

    def forget(self) -> None:
        """Forget all URLs. Other rules apply from now on, so each URL must be judged again."""
        with self._lock:
            self._depths.clear()
