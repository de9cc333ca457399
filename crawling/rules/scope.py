"""Which URLs belong to a crawl (SEEDS W10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crawling.rules.addresses import Address, read_address

#: what a column of 16 bits holds; a chain of links this long is a trap
DEEPEST = 32_767


@dataclass(frozen=True, slots=True)
class Scope:
    """The seeds' hosts, down to a depth. A seed has depth 0; a link is one deeper than its page."""

    hosts: frozenset[str]
    max_depth: int | None

    @classmethod
    def of_seeds(cls, seeds: Iterable[str], max_depth: int | None) -> Scope:
        return cls(frozenset(read_address(seed).host_key for seed in seeds), max_depth)

    def admits(self, address: Address, depth: int) -> bool:
        return address.host_key in self.hosts and self.admits_depth(depth)

    def admits_depth(self, depth: int) -> bool:
        return depth <= (DEEPEST if self.max_depth is None else self.max_depth)
