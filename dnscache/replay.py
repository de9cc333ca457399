"""What a crawl's own accesses would have cost under other caches.

Pure: a trace in, figures out, times in seconds.

Each access asks for its name and waits for a look-up if the cache does not serve it. The policies
are those that crawlers have (`lru`, as Scrapy's, and `ttl`, as dnspython's), the patent read
literally, and ours, run by its own code.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dnscache.protocol.answers import DnsStatus, Reply, answer_from
from dnscache.regions.entry import THRESHOLD_SECONDS
from dnscache.regions.space import CacheSpace

#: the patent gives no numbers; these are ours
PATENT_PURGE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class KnownLookup:
    """What a name's look-up costs and brings."""

    seconds: float
    #: how long the answer holds, be it a failure or no such name
    ttl: int
    status: DnsStatus = DnsStatus.OK


@dataclass(slots=True)
class ReplayFigures:
    """Counts of a replay."""

    accesses: int = 0
    hits: int = 0
    expired: int = 0
    look_ups: int = 0
    waited: float = 0.0

    @property
    def hit_share(self) -> float:
        return self.hits / self.accesses if self.accesses else 0.0

    @property
    def expired_share(self) -> float:
        """How many accesses were served past the TTL without a flag."""
        return self.expired / self.accesses if self.accesses else 0.0

    @property
    def mean_wait_ms(self) -> float:
        return 1000 * self.waited / self.accesses if self.accesses else 0.0

    @property
    def look_ups_an_access(self) -> float:
        return self.look_ups / self.accesses if self.accesses else 0.0


class Cache(Protocol):
    """`until` when the answer that is served is good, or None: it must be asked for; then `learn`
    it.
    """

    def until(self, name: str, now: float) -> float | None: ...
    def learn(self, name: str, known: KnownLookup, now: float) -> None: ...


class LruCache:
    """The names used last.

    `by_ttl`: none past its time; without, successes stay for ever and failures are not kept.
    """

    def __init__(self, capacity: int, *, by_ttl: bool) -> None:
        self._capacity, self._by_ttl = capacity, by_ttl
        self._ends: OrderedDict[str, float] = OrderedDict()

    def until(self, name: str, now: float) -> float | None:
        end = self._ends.get(name)
        if end is None or (self._by_ttl and end <= now):
            return None
        self._ends.move_to_end(name)
        return end

    def learn(self, name: str, known: KnownLookup, now: float) -> None:
        if known.status.is_failure or (known.status is not DnsStatus.OK and not self._by_ttl):
            return
        self._ends[name] = now + known.ttl
        self._ends.move_to_end(name)
        if len(self._ends) > self._capacity:
            self._ends.popitem(last=False)


class PatentLiteral:
    """The forward region never expires; the reverse one is purged of what is light and old from
    time to time.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._forward: OrderedDict[str, float] = OrderedDict()
        self._reverse: dict[str, tuple[float, float, float]] = {}
        self._purge_at = 0.0

    def until(self, name: str, now: float) -> float | None:
        if name in self._forward:
            return self._forward[name]
        found = self._reverse.get(name)
        return None if found is None else found[0]

    def learn(self, name: str, known: KnownLookup, now: float) -> None:
        if now >= self._purge_at:
            self._purge_at = now + PATENT_PURGE_SECONDS
            self._reverse = {
                key: row
                for key, row in self._reverse.items()
                if now - row[2] < PATENT_PURGE_SECONDS
            }
        if known.status is DnsStatus.OK and known.seconds < THRESHOLD_SECONDS:
            self._forward[name] = now + known.ttl
        else:
            self._reverse[name] = (now + known.ttl, known.seconds, now)
        if len(self._forward) + len(self._reverse) > self._capacity:
            if self._reverse:
                del self._reverse[min(self._reverse, key=lambda key: self._reverse[key][1])]
            else:
                self._forward.popitem(last=False)


class RegionsCache:
    """The cache space itself."""

    def __init__(self, capacity: int) -> None:
        self._space = CacheSpace(capacity)
        self._purge_at = 0.0

    def until(self, name: str, now: float) -> float | None:
        entry = self._space.get(name, now)
        return None if entry is None else entry.fresh_until

    def learn(self, name: str, known: KnownLookup, now: float) -> None:
        if now >= self._purge_at:
            self._purge_at = now + 60.0
            self._space.purge(now)
        addresses = ("192.0.2.1",) if known.status is DnsStatus.OK else ()
        reply = Reply(known.status, addresses, name, 0, known.ttl, int(1000 * known.seconds))
        before = self._space.find(name)
        self._space.put(
            answer_from(name, reply, previous=before.answer if before else None, now=now), now
        )


POLICIES: dict[str, Callable[[int], Cache]] = {
    "LRU without TTL": lambda capacity: LruCache(capacity, by_ttl=False),
    "LRU with TTL": lambda capacity: LruCache(capacity, by_ttl=True),
    "patent, literally": PatentLiteral,
    "ours": RegionsCache,
}


def replay(
    trace: Sequence[tuple[float, str]], known: Mapping[str, KnownLookup], *, capacity: int
) -> dict[str, ReplayFigures]:
    """Return the figures of each policy for the accesses (time, name), in their order.

    Every name must be known.
    """
    return {policy: _run(make(capacity), trace, known) for policy, make in POLICIES.items()}


def _run(
    cache: Cache, trace: Sequence[tuple[float, str]], known: Mapping[str, KnownLookup]
) -> ReplayFigures:
    figures = ReplayFigures()
    for now, name in trace:
        figures.accesses += 1
        end = cache.until(name, now)
        if end is None:
            figures.look_ups += 1
            figures.waited += known[name].seconds
            cache.learn(name, known[name], now)
        else:
            figures.hits += 1
            figures.expired += end <= now
    return figures
