"""The cache space: the two regions, the search for names in them, and the decision which answers
are evicted (SEEDS D3).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from random import Random

from dnscache.protocol.answers import (
    LONGEST_BACKOFF_SECONDS,
    LONGEST_STALE_SECONDS,
    DnsAnswer,
    DnsStatus,
)
from dnscache.regions.entry import CachedAnswer, Region
from dnscache.regions.forward import ForwardRegion
from dnscache.regions.reverse import ReverseRegion

#: the number of answers that are compared to find one to evict
SAMPLE = 16
#: the purge deletes entries of the conflict area that are in this share of least weight and were
#: idle for this long
PURGE_SHARE, PURGE_IDLE_SECONDS = 0.1, 600.0
#: the share of the capacity that third-level names may take
THIRD_LEVEL_SHARE = 0.25


class EvictionReason(StrEnum):
    FULL = "the cache was full"
    LIGHT = "light, and unused for long"
    OLD = "too old even to be served stale"
    DEEP = "too many third-level names"


@dataclass(frozen=True, slots=True)
class EvictedAnswer:
    name: str
    region: Region
    weight: float
    why: EvictionReason


class CacheSpace:
    """At most `capacity` answers in two regions that share it.

    One thread writes at a time; any number may `get`.
    """

    def __init__(self, capacity: int, *, third_level_quantile: float = 0.5) -> None:
        self.capacity, self._quantile = capacity, third_level_quantile
        self._random = Random(0)  # noqa: S311 - to sample, not to guess
        self.clear()

    def clear(self) -> None:
        self.forward, self.reverse = ForwardRegion(), ReverseRegion()
        self._pool: list[str] = []
        self._evictions_left = 0

    def get(self, name: str, now: float) -> CachedAnswer | None:
        """A fresh answer; the hit is counted. This is called often, so it reads only one or two
        tables, and takes no lock.
        """
        entry = self.find(name)
        if entry is None or now >= entry.fresh_until:
            return None
        entry.count_hit(now)
        return entry

    def find(self, name: str) -> CachedAnswer | None:
        """Return the entry of a name: through table 2 if it lies in the forward region, else
        through table 3 and its pointer into the conflict area.
        """
        entry = self.forward.table2.get(name)
        if entry is not None:
            return entry
        conflict = self.reverse.find(name)
        return None if conflict is None else conflict.entry

    def __contains__(self, name: str) -> bool:
        return name in self.forward.table2 or name in self.reverse.table3

    def __len__(self) -> int:
        return len(self.forward.table2) + len(self.reverse.table3)

    def names(self) -> Iterator[str]:
        """All names, those of the forward region first."""
        return chain(self.forward.table2, self.reverse.table3)

    def names_of(self, first: str) -> list[str]:
        """The names under a registered one, in both regions."""
        return self.forward.names_of(first) + self.reverse.names_of(first)

    def put(
        self, answer: DnsAnswer, now: float, *, needed: Collection[str] = ()
    ) -> list[EvictedAnswer]:
        """Keep the answer in its region. Return the evicted answers. needed: names that are due
        soon, whose answers are not evicted.
        """
        return self.adopt(
            CachedAnswer(answer, now=now, previous=self.find(answer.name)),
            now,
            needed=needed,
        )

    def adopt(
        self, entry: CachedAnswer, now: float, *, needed: Collection[str] = (), first: str = ""
    ) -> list[EvictedAnswer]:
        """Keep an entry that was made elsewhere, as `put` does; `first` is its registered name, if
        known.
        """
        previous = self.find(entry.name)
        dropped = self._make_room(now, needed) if previous is None else []
        if entry.region is Region.FORWARD:
            self.forward.add(entry, first)
        else:
            self.reverse.add(entry, now=now)
        if previous is not None and previous.region is not entry.region:
            self._remove_from_region(previous)
        return dropped

    def remove(self, name: str) -> None:
        entry = self.find(name)
        if entry is not None:
            self._remove_from_region(entry)

    def purge(self, now: float) -> list[EvictedAnswer]:
        """Evict entries that are idle and of little weight, and sort the conflict area. Return the
        evicted answers. Called once a minute.
        """
        old = [entry.name for entry in self._all_answers() if now >= useful_until(entry)]
        dropped = self._evict(old, EvictionReason.OLD, now)
        light = self.reverse.idle_light_names(
            now, share=PURGE_SHARE, idle_seconds=PURGE_IDLE_SECONDS
        )
        dropped += self._evict(light, EvictionReason.LIGHT, now)
        deep = self.forward.surplus_names(
            most=int(THIRD_LEVEL_SHARE * self.capacity), quantile=self._quantile
        )
        return dropped + self._evict(deep, EvictionReason.DEEP, now)

    def threads_saved(self, now: float) -> float:
        """The sum of all weights, that is, the number of fetch threads that the cache saves."""
        return sum(entry.weight(now) for entry in self._all_answers())

    def _all_answers(self) -> list[CachedAnswer]:
        forward = list(self.forward.table2.values())
        return forward + [conflict.entry for conflict in self.reverse.rows()]

    def _make_room(self, now: float, needed: Collection[str]) -> list[EvictedAnswer]:
        dropped: list[EvictedAnswer] = []
        while 0 < len(self) >= self.capacity:
            dropped += self._evict(
                [self._lightest_sampled_name(now, needed)], EvictionReason.FULL, now
            )
        return dropped

    def _lightest_sampled_name(self, now: float, needed: Collection[str]) -> str:
        """The lightest entry of a random sample. A dictionary cannot be sampled, so a list of its
        names is sampled. The list is renewed when an eighth of its names are removed.
        """
        if self._evictions_left <= 0:
            self._pool = list(self.names())
            self._evictions_left = max(1, len(self._pool) // 8)
        self._evictions_left -= 1
        drawn = (
            self._pool if len(self._pool) <= SAMPLE else self._random.choices(self._pool, k=SAMPLE)
        )
        known = [name for name in drawn if name in self] or [next(self.names())]
        free = [name for name in known if name not in needed] or known
        return min(free, key=lambda name: self._stored_entry(name).weight(now))

    def _evict(self, names: list[str], why: EvictionReason, now: float) -> list[EvictedAnswer]:
        dropped = []
        for name in names:
            entry = self._stored_entry(name)
            dropped.append(EvictedAnswer(name, entry.region, entry.weight(now), why))
            self._remove_from_region(entry)
        return dropped

    def _stored_entry(self, name: str) -> CachedAnswer:
        entry = self.find(name)
        assert entry is not None
        return entry

    def _remove_from_region(self, entry: CachedAnswer) -> None:
        if entry.region is Region.FORWARD:
            self.forward.remove(entry)
        else:
            self.reverse.remove(entry.name)


def useful_until(entry: CachedAnswer) -> float:
    """The time until which the answer is of use. Addresses may be served stale after their TTL, and
    failures still count.
    """
    if entry.status is DnsStatus.OK:
        return entry.expires_at + LONGEST_STALE_SECONDS
    return entry.fresh_until + (LONGEST_BACKOFF_SECONDS if entry.fails else 0)
