"""A crawl of 30,000 hosts in simulated time, where DNS costs what it costs out there: what the
cache's own decisions are worth.

python -m benchmarks.dnscache.model [FETCHES]

64 threads fetch for 0.25 s on average from 2,000 hosts at a time, with 2 s between two fetches from
one host; of names 8 % take 0.6 s, 3 % are silent, 4 % do not exist, the rest has a median of 35 ms.
Cache, weights, lanes, due times and gate are the product's code; the clock, name servers and
threads are not. Pages are those that were fetched: dead names have none, but cost look-ups and
time.
"""

from __future__ import annotations

import heapq
import sys
from collections import OrderedDict
from collections.abc import Callable
from random import Random

from benchmarks.dnscache.simulated import THREADS, Crawl, Host, make_hosts
from dnscache.preresolver.plan import (
    GRACE_SECONDS,
    LOOK_AHEAD_SECONDS,
    MOST_THREADS,
    LookupRate,
    must_ask,
    threads_for,
)
from dnscache.preresolver.preresolver import MAIN_TRIES, SLOW_TRIES
from dnscache.protocol.answers import MOST_TRIES, DnsStatus, Reply, answer_from
from dnscache.regions.entry import CachedAnswer
from dnscache.regions.space import CacheSpace

CAPACITY, TICK_SECONDS, SLOTS = 100_000, 0.2, 64


class Free(Crawl):
    """DNS costs nothing: the bound."""

    def resolve(self, host: Host) -> float:
        return 0.0


class Lru(Crawl):
    """What dnspython's cache does: TTLs, negative answers, no failures.

    Without `capacity` nothing is kept.
    """

    def __init__(self, hosts: list[Host], fetches: int, capacity: int = CAPACITY) -> None:
        super().__init__(hosts, fetches)
        self._capacity, self._ends = capacity, OrderedDict[str, float]()

    def resolve(self, host: Host) -> float:
        if self._ends.get(host.name, 0.0) > self.now:
            self._ends.move_to_end(host.name)
            return 0.0
        self.figures.look_ups += 1
        if self._capacity and host.status is not DnsStatus.TIMEOUT:
            self._ends[host.name] = self.now + host.seconds + host.ttl
            if len(self._ends) > self._capacity:
                self._ends.popitem(last=False)
        return host.seconds


class Ours(Crawl):
    """The cache space, the lanes and, if `gate`, the gate.

    A host that is claimed unsettled resolves its name in its thread.
    """

    def __init__(self, hosts: list[Host], fetches: int, *, gate: bool) -> None:
        self._space, self._gate, self._pace = CacheSpace(CAPACITY), gate, LookupRate(0.0)
        self._lanes: dict[bool, list[tuple[float, int, Host]]] = {False: [], True: []}
        self._busy = {False: 0, True: 0}
        self._queued: set[str] = set()
        self._held: dict[str, Host] = {}
        self._unused: set[str] = set()
        self._purge_at = 60.0
        super().__init__(hosts, fetches)
        self.at(0.0, self._tick)

    def is_ready(self, host: Host) -> bool:
        return not self._gate or self._is_settled(self._space.find(host.name))

    def hold_back(self, host: Host) -> None:
        self._held[host.name] = host

    def resolve(self, host: Host) -> float:
        entry = self._space.find(host.name)
        if entry is not None and (self._is_settled(entry) or entry.may_be_served(self.now)):
            entry.touch(self.now)
            self._unused.discard(host.name)
            return 0.0
        self.figures.look_ups += 1
        self._learn(host, host.status, host.seconds, self.now + host.seconds)
        return host.seconds

    def _is_settled(self, entry: CachedAnswer | None) -> bool:
        """`gate.IS_SETTLED`, for an entry."""
        if entry is None:
            return False
        rests = entry.retry_at is not None and entry.retry_at > self.now
        return (
            entry.expires_at > self.now
            or (not entry.fails and entry.resolved_at > self.now - GRACE_SECONDS)
            or (rests and (entry.status is DnsStatus.OK or entry.fails >= MOST_TRIES))
        )

    def _learn(self, host: Host, status: DnsStatus, seconds: float, at: float) -> None:
        reply = Reply(
            status,
            ("192.0.2.1",) if status is DnsStatus.OK else (),
            host.name,
            0,
            host.ttl,
            round(1000 * seconds),
        )
        previous = self._space.find(host.name)
        self._space.put(
            answer_from(host.name, reply, previous=previous.answer if previous else None, now=at),
            at,
        )

    def _tick(self) -> None:
        """What a turn of the pre-resolver does, five times a second."""
        self.at(self.now + TICK_SECONDS, self._tick)
        if self.now >= self._purge_at:
            self._purge_at += 60.0
            self._space.purge(self.now)
        for name in [name for name, host in self._held.items() if self.is_ready(host)]:
            self.make_due(self._held.pop(name), self.now)
        for name, (due, host) in self.due.items():
            if due > self.now + LOOK_AHEAD_SECONDS or name in self._queued:
                continue
            if must_ask(self._space.find(name), due=due, now=self.now):
                self._queued.add(name)
                self._pace.begin(1, self.now)
                heapq.heappush(self._lanes[False], (due, next(self.ticket), host))
        self._start()

    def _start(self) -> None:
        slow = min(SLOTS // 2, len(self._lanes[True]) + self._busy[True])
        pace = {
            "per_second": self._pace.per_second(self.now),
            "seconds": self._pace.seconds(self.now),
        }
        main = threads_for(
            names=len(self._queued) or 1, most=min(MOST_THREADS, SLOTS - slow), **pace
        )
        for is_slow, size, tries in ((False, main, MAIN_TRIES), (True, slow, SLOW_TRIES)):
            while self._lanes[is_slow] and self._busy[is_slow] < size:
                _, _, host = heapq.heappop(self._lanes[is_slow])
                self._busy[is_slow] += 1
                took = (
                    min(host.seconds, sum(tries))
                    if host.status is not DnsStatus.TIMEOUT
                    else sum(tries)
                )
                self.at(self.now + took, lambda h=host, s=is_slow, t=took: self._answered(h, s, t))  # type: ignore[misc]

    def _answered(self, host: Host, is_slow: bool, took: float) -> None:
        self._busy[is_slow] -= 1
        if not is_slow:
            self._pace.end(took, self.now)
            self.figures.look_ups += 1
        if not is_slow and took >= sum(MAIN_TRIES):
            heapq.heappush(self._lanes[True], (self.now, next(self.ticket), host))
        else:
            self._queued.discard(host.name)
            self.figures.ahead += 1
            self.figures.used -= host.name in self._unused  # that one expired unused
            self.figures.used += 1
            self._unused.add(host.name)
            self._learn(host, host.status, took + (sum(MAIN_TRIES) if is_slow else 0.0), self.now)
            if host.name in self._held and self.is_ready(host):
                self.make_due(self._held.pop(host.name), self.now)
        self._start()


def main() -> None:
    fetches = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    hosts = make_hosts(Random(1))  # noqa: S311 - the same every time
    ways: dict[str, Callable[[], Crawl]] = {
        "DNS costs nothing": lambda: Free(hosts, fetches),
        "no cache": lambda: Lru(hosts, fetches, capacity=0),
        "LRU with TTL": lambda: Lru(hosts, fetches),
        "ours, ahead and ungated": lambda: Ours(hosts, fetches, gate=False),
        "ours, ahead with the gate": lambda: Ours(hosts, fetches, gate=True),
    }
    print(
        f"{'':28}{'pages/s':>9}{'of bound':>9}{'mean wait ms':>14}{'stall':>8}"
        f"{'look-ups a page':>17}{'wasted':>8}"
    )
    bound = 0.0
    for label, make in ways.items():
        figures = make().run()
        rate = figures.pages / figures.ended
        bound = bound or rate
        wasted = 1 - figures.used / figures.ahead if figures.ahead else 0.0
        print(
            f"{label:28}{rate:9.1f}{rate / bound:9.3f}"
            f"{1000 * figures.waiting / figures.pages:14.1f}"
            f"{figures.waiting / (THREADS * figures.ended):8.1%}"
            f"{figures.look_ups / figures.pages:17.3f}{wasted:8.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
