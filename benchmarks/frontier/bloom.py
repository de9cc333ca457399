"""A Bloom filter (SEEDS B7), to be measured beside what the product has.

It may call seen what it was never told, so a page's fate must never depend on it alone; decision 19
says why the product does without."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, exp, log

from xxhash import xxh3_128_intdigest


def best_hashes(bits_per_item: float) -> int:
    """How many hashes make the fewest false positives, rounded up as in B7's table."""
    return max(1, ceil(bits_per_item * log(2)))


def false_positives(bits_per_item: float, hashes: int) -> float:
    """The share of new items that a full filter calls seen."""
    return float((1 - exp(-hashes / bits_per_item)) ** hashes)


class Bloom:
    """Room for so many items, with so many bits for each."""

    def __init__(self, items: int, bits_per_item: int) -> None:
        self._size = items * bits_per_item
        self._hashes = best_hashes(bits_per_item)
        self._bits = bytearray((self._size + 7) // 8)

    def __contains__(self, item: str) -> bool:
        return all(self._bits[place >> 3] >> (place & 7) & 1 for place in self._places(item))

    def add(self, item: str) -> None:
        for place in self._places(item):
            self._bits[place >> 3] |= 1 << (place & 7)

    def _places(self, item: str) -> Iterator[int]:
        """Two hashes make all the others (Kirsch and Mitzenmacher)."""
        second, first = divmod(xxh3_128_intdigest(item.encode()), 1 << 64)
        size = self._size
        return ((first + number * second) % size for number in range(self._hashes))
