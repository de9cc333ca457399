"""A crawl in simulated time, whatever way it comes by names."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from random import Random

from dnscache.protocol.answers import DnsStatus

HOSTS, ACTIVE, THREADS, FETCH_SECONDS, DELAY_SECONDS = 30_000, 2_000, 64, 0.25, 2.0
SILENCE_SECONDS = 5.0
TTLS = [0] + [20, 40, 60] * 7 + [300] * 34 + [600, 1800, 3600] * 10 + [14_400, 43_200, 86_400] * 5


@dataclass(slots=True)
class Host:
    name: str
    pages: int
    seconds: float
    ttl: int
    status: DnsStatus


@dataclass
class Figures:
    """What became of the fetches; `used` are names resolved ahead that were used."""

    pages: int = 0
    waits: float = 0.0
    waiting: float = 0.0
    fetching: float = 0.0
    look_ups: int = 0
    ahead: int = 0
    used: int = 0
    ended: float = 0.0


def make_hosts(random: Random) -> list[Host]:
    """The same hosts for every way; the popular ones anywhere among the others."""
    hosts = []
    for rank in range(1, HOSTS + 1):
        lot, seconds, status = random.random(), random.lognormvariate(-3.35, 1.0), DnsStatus.OK
        if lot < 0.08:
            seconds = random.lognormvariate(-0.51, 0.5)
        elif lot < 0.11:
            seconds, status = SILENCE_SECONDS, DnsStatus.TIMEOUT
        elif lot < 0.15:
            status = DnsStatus.NXDOMAIN
        hosts.append(
            Host(
                f"www.h{rank}.com",
                max(1, round(5_300 / rank**0.9)),
                min(seconds, 4.9),
                random.choice(TTLS),
                status,
            )
        )
        if status is DnsStatus.TIMEOUT:
            hosts[-1].seconds = SILENCE_SECONDS
    random.shuffle(hosts)
    return hosts


class Crawl(ABC):
    """To be given one way of coming by names.

    `resolve(host)` returns the seconds that a fetch thread waits; `is_ready` is the gate.
    """

    def __init__(self, hosts: list[Host], fetches: int) -> None:
        self.now, self.figures = 0.0, Figures()
        # to draw lots
        self._fetches, self._random, self.ticket = fetches, Random(2), count()  # noqa: S311
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._left = deque((host, host.pages) for host in hosts)
        self.due: dict[str, tuple[float, Host]] = {}
        self._queue: list[tuple[float, int, Host]] = []
        self._pages: dict[str, int] = {}
        self._idle = THREADS
        for _ in range(ACTIVE):
            self._activate()

    @abstractmethod
    def resolve(self, host: Host) -> float:
        """Let a thread resolve the host's name; returns the seconds that takes."""

    def is_ready(self, host: Host) -> bool:
        return True

    def at(self, moment: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, next(self.ticket), event))

    def run(self) -> Figures:
        self._go_on()
        while self._events and self.figures.pages < self._fetches:
            self.now, _, event = heapq.heappop(self._events)
            event()
            self._go_on()
        self.figures.ended = self.now
        return self.figures

    def _activate(self) -> None:
        if self._left:
            host, self._pages[host.name] = self._left.popleft()
            self.make_due(host, self.now + self._random.random() * DELAY_SECONDS)

    def make_due(self, host: Host, moment: float) -> None:
        self.due[host.name] = (moment, host)
        heapq.heappush(self._queue, (moment, next(self.ticket), host))
        self.at(moment, lambda: None)

    def hold_back(self, host: Host) -> None:  # noqa: B027 - without a gate nothing is held back
        """The host did not pass the gate; the settling of its name puts it back."""

    def _go_on(self) -> None:
        while self._idle and self._queue and self._queue[0][0] <= self.now:
            host = heapq.heappop(self._queue)[2]
            if not self.is_ready(host):
                self.hold_back(host)
                continue
            del self.due[host.name]
            self._idle -= 1
            wait = self.resolve(host)
            took = (
                self._random.expovariate(1 / FETCH_SECONDS) if host.status is DnsStatus.OK else 0.0
            )
            self.figures.waiting += wait
            self.figures.fetching += took
            self.at(self.now + wait + took, lambda host=host: self._fetched(host))  # type: ignore[misc]

    def _fetched(self, host: Host) -> None:
        self._idle += 1
        self.figures.pages += host.status is DnsStatus.OK
        self._pages[host.name] -= 1
        if self._pages[host.name]:
            self.make_due(host, self.now + DELAY_SECONDS)
        else:
            self._activate()
