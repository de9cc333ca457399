"""Resolves the names of leased hosts that were not resolved ahead, so that no fetch thread waits
for a name server, and puts each visit on the workbench with its host's addresses.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue

from django.db import InterfaceError, OperationalError, connections

from crawling.fetching.pipeline.visit import Visit
from crawling.fetching.shift.workbench import Workbench
from crawling.web.addresses import LOCAL_FILES, canonical_address, dns_name
from dnscache.lookup_counter import LookupCounter
from dnscache.preresolver.gate import settled_answers
from dnscache.preresolver.preresolver import PreResolver
from dnscache.preresolver.requests import RequestQueue
from dnscache.protocol.answers import DnsStatus
from dnscache.resolution import Resolution
from dnscache.resolver import AnswerSource, Resolver, resolve
from dnscache.store import WriteBehind

logger = logging.getLogger(__name__)

#: a visit, and the time since when it waits
Request = tuple[Visit, float]

WAIT_SECONDS = 0.02
#: the seconds after which answers are written together: one statement for each answer would cost
#: more than the look-ups
WRITE_SECONDS = 0.25
#: the number of names that are handed to the look-ups for each DNS slot, so that names whose
#: servers are silent do not delay the others
HANDED_A_SLOT = 8
#: files have no host that a name server knows
OF_FILES = Resolution("", DnsStatus.OK, (), 0, 0, AnswerSource.LITERAL, 0)


class NameThread:
    """Takes visits without an address, and passes each on once it has one. Look-ups in flight stay
    within dns_slots.

    Visits queue as the patent's requests do (SEEDS D11, D12): a visit whose name is already
    resolved may overtake others, and the first of the rest is looked up. A name whose servers are
    silent goes to the slow lane and delays no other.
    """

    def __init__(self, deliver: Callable[[Visit], None], dns_slots: Callable[[], int]) -> None:
        self._deliver, self._slots = deliver, dns_slots
        self.counter = LookupCounter()
        self._asked: SimpleQueue[tuple[Visit, float] | None] = SimpleQueue()
        self._closing = threading.Event()
        self._writer = WriteBehind(every_seconds=WRITE_SECONDS)
        self._resolver = Resolver(writer=self._writer)
        self._requests: RequestQueue[Request] = RequestQueue()
        self._unread: set[str] = set()  # names for which PostgreSQL may have an answer
        # by host, the visits that wait, and since when
        self._handed: dict[str, tuple[float, list[Request]]] = {}
        self._pre = PreResolver(
            self._resolver,
            candidates=self._candidates,
            deliver=self._pass_on_all,
            slots=dns_slots,
            ramp_seconds=0.0,
        )
        self._thread = threading.Thread(target=self._work, name="names", daemon=True)

    def ask(self, visit: Visit) -> None:
        """Called by the shift's own thread. Most shifts find every name settled, and never call
        this.
        """
        if self._thread.ident is None and not self._closing.is_set():
            self._thread.start()
        self._asked.put((visit, time.monotonic()))

    def close(self) -> None:
        """Store the answers and end the thread soon. Visits that still wait are dropped here; their
        shift returns them.
        """
        self._closing.set()
        self._asked.put(None)
        self._writer.flush()

    @property
    def waiting(self) -> int:
        return (
            self._asked.qsize()
            + len(self._requests)
            + sum(len(requests) for _, requests in list(self._handed.values()))
        )

    @property
    def under_way(self) -> int:
        return self._pre.under_way

    @property
    def is_alive(self) -> bool:
        """Whether the thread still answers."""
        return self._thread.ident is None or self._thread.is_alive()

    def _work(self) -> None:
        self._writer.start()
        try:
            while not self._closing.is_set():
                self._take_requests()
                try:
                    self._serve()
                # for example, PostgreSQL restarts: callers go on waiting
                except (OperationalError, InterfaceError, MemoryError) as error:
                    logger.warning(
                        "names wait for PostgreSQL or memory", extra={"error": str(error)}
                    )
                    connections.close_all()
                    self._closing.wait(10 * WAIT_SECONDS)
        finally:
            self._pre.close()
            self._writer.close()
            connections.close_all()

    def _take_requests(self) -> None:
        """Queue all requests that have come in. Wait for one if there is nothing else to do."""
        try:
            request = self._asked.get(block=not self._handed and not self._requests)
            while request is not None:
                host = host_of(request[0])
                self._requests.submit(request, host, self._resolver.clock())
                self._unread.add(host)
                request = self._asked.get_nowait()
        except Empty:
            pass

    def _serve(self) -> None:
        now = self._resolver.clock()
        self._resolver.recall(self._unread, now)
        self._unread.clear()
        while len(self._handed) < HANDED_A_SLOT * self._slots() and (
            taken := self._requests.take_next(self._is_at_hand, now)
        ):
            request = taken[0]
            host = host_of(request[0])
            if self._is_at_hand(host):
                self._pass_on(request, self._resolver.resolve(host))
            else:
                self._handed.setdefault(host, (now, []))[1].append(request)
        if self._requests and not self._handed:
            self._closing.wait(WAIT_SECONDS)  # wait for a free slot
        if self._handed:
            self._pre.do_round(wait=WAIT_SECONDS)
            self.counter.note_look_ups(self._pre.counts)

    def _candidates(self, until: float) -> Iterable[tuple[str, float]]:
        return [(host, since) for host, (since, _) in self._handed.items()]

    def _is_at_hand(self, host: str) -> bool:
        now = self._resolver.clock()
        entry = self._resolver.memory.find(host, now)
        return entry is not None and entry.may_be_served(now)

    def _pass_on_all(self, found: dict[str, Resolution]) -> None:
        for host, resolution in found.items():
            for request in self._handed.pop(host, (0.0, []))[1]:
                self._pass_on(request, resolution)

    def _pass_on(self, request: Request, resolution: Resolution) -> None:
        visit, asked_at = request
        visit.route.resolve(resolution)
        self.counter.note(resolution, time.monotonic() - asked_at)
        if not self._closing.is_set():
            self._deliver(visit)


def host_of(visit: Visit) -> str:
    return canonical_address(visit.urls[0].url).hostname


class HostNames:
    """The names of a shift's hosts. Used by the shift's own thread only."""

    def __init__(self, bench: Workbench, dns_slots: Callable[[], int]) -> None:
        self._bench = bench
        self._thread = NameThread(bench.put, dns_slots)

    def check(self) -> None:
        """Raise RuntimeError if names are not resolved any more."""
        if not self._thread.is_alive:
            raise RuntimeError(
                "the thread that resolves names has ended; the worker's log says why"
            )

    def waiting(self) -> int:
        return self._thread.waiting

    def under_way(self) -> int:
        return self._thread.under_way

    def write_counts(self) -> None:
        """Store how many names were already resolved and how many were looked up."""
        self._thread.counter.store_counts()

    def bring(self, visits: Sequence[Visit]) -> None:
        """Put visits on the workbench. The answers for all of them are read at once. A name without
        an answer is looked up, and its host follows later.
        """
        now = time.monotonic()
        outdated = {
            visit: dns_name(visit.host.name) for visit in visits if not visit.route.is_current(now)
        }
        found = settled_answers({name for name in outdated.values() if name})
        for visit in visits:
            if visit.host.name == LOCAL_FILES:
                visit.route.resolve(OF_FILES)
            elif visit in outdated:
                name = outdated[visit]
                # an IP address, which needs no look-up
                resolution = found.get(name) if name else resolve(host_of(visit))
                if not resolution:
                    self._thread.ask(visit)
                    continue
                visit.route.resolve(resolution)
                self._thread.counter.note(resolution, 0.0)
            self._bench.put(visit)

    def close(self) -> None:
        self._thread.close()
        self._thread.counter.store_counts()
