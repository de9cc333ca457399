"""The work of a pre-resolver: it resolves the names of hosts that come due, while a grant lasts."""

from __future__ import annotations

import logging
import time

import psycopg
from django.db import Error as DatabaseError
from django.db import connections

from allocation.errors import AllocationError
from crawling.base.errors import CrawlError
from crawling.fetching.preresolver.slots import LookupSlots, MachineLock
from crawling.frontier.waiting_names import due_names
from crawling.machine.notices import StopEvent
from crawling.models import Run
from crawling.models.jobs import WORKING_STATES
from dnscache.cache_reads import CacheReadServer
from dnscache.lookup_counter import LookupCounter, keep_history
from dnscache.preresolver.preresolver import (
    HEARTBEAT_SECONDS,
    PreResolver,
    end_heartbeat,
    send_heartbeat,
)
from dnscache.resolver import Resolver
from dnscache.selectors import pinned_names
from dnscache.store import WriteBehind

logger = logging.getLogger(__name__)

#: the most answers in memory; this many take 0.6 GB
CAPACITY = 1_000_000
TICK_SECONDS = 0.2
#: the time between two looks while no run works; the notification of a grant ends the pause
IDLE_SECONDS = 5.0
#: the delay with which answers reach the gate
WRITE_SECONDS = 0.1
#: the seconds between two sums of all weights: each reads the whole memory, which takes too long to
#: do every second
WEIGH_SECONDS = 30.0
#: rows of earlier processes that are unpacked at each look, until all are in the tables
UNPACKED_A_LOOK = 1000
#: temporary errors. Any other error is a bug and ends the process, which the supervisor starts
#: again.
PASSING = (DatabaseError, psycopg.Error, AllocationError, CrawlError)


class PreResolverProcess:
    """The pre-resolver of one machine.

    Its death costs only speed: the gate opens, and shifts resolve their own names.
    """

    def __init__(self, machine: str, resolver: Resolver | None = None) -> None:
        self._machine = machine
        self._writer = WriteBehind(every_seconds=WRITE_SECONDS)
        self._resolver = resolver or Resolver(capacity=CAPACITY)
        self._resolver.writer = self._writer
        self._seat, self._slots = MachineLock(machine), LookupSlots(machine)
        self._tally = LookupCounter()
        self._pre = PreResolver(
            self._resolver,
            candidates=self._candidates,
            deliver=lambda found: None,
            slots=lambda: self._slots.held,
            rank=lambda name, due: self._ranks.get(name, due),
        )
        self._due: list[tuple[str, float]] = []
        self._ranks: dict[str, float] = {}
        self._place, self._machines = 0, 1
        self._look_at = self._read_at = self._weigh_at = self._saved = 0.0
        self._reads = CacheReadServer(machine, self._resolver.memory)
        self._began = self._is_wanted = False

    def work(self, ending: StopEvent) -> None:
        self._writer.start()
        try:
            while not ending.is_set():
                try:
                    self._do_turn(ending)
                except PASSING as error:
                    logger.warning("pre-resolution waits", extra={"error": str(error)})
                    connections.close_all()
                    ending.wait(TICK_SECONDS)
        finally:
            self._pre.close()
            self._writer.close()
            self._hand_everything_in()

    def _do_turn(self, ending: StopEvent) -> None:
        now = time.monotonic()
        if now >= self._look_at:
            self._renew(now)
            self._look_at = now + (HEARTBEAT_SECONDS if self._slots.held else TICK_SECONDS)
        if self._slots.held:
            self._pre.do_round(wait=TICK_SECONDS)
        elif self._is_wanted:
            ending.wait(TICK_SECONDS)
        else:
            self._seat.wait(IDLE_SECONDS, ending)
            self._look_at = 0.0

    def _renew(self, now: float) -> None:
        """Renew the lock, the grant and the sign of life: every second, more often while the
        process waits for a grant, and rarely while no run works.

        Another process of this machine may have the lock and keeps it.
        """
        if not self._seat.is_held():
            return
        if not self._began:
            self._slots.settle()
            logger.info(
                "resolving ahead",
                extra={"machine": self._machine, "answers": self._resolver.load_stored_answers()},
            )
            self._reads.start()
            self._began = True
        self._resolver.memory.unpack(UNPACKED_A_LOOK, self._resolver.clock())
        held = self._slots.held
        self._is_wanted = Run.objects.filter(state__in=WORKING_STATES).exists()
        self._slots.look(wanted=self._is_wanted)
        if self._slots.held:
            self._write_heartbeat(now)
        elif held:
            end_heartbeat(self._machine)

    def _write_heartbeat(self, now: float) -> None:
        space = self._resolver.memory.space
        if now >= self._weigh_at:
            self._weigh_at, self._saved = (
                now + WEIGH_SECONDS,
                space.threads_saved(self._resolver.clock()),
            )
            keep_history(self._resolver.memory)
        self._tally.note_look_ups(self._pre.counts)
        self._tally.store_counts()
        self._place, self._machines = send_heartbeat(
            self._machine,
            slots=self._slots.held,
            lanes=self._pre.lanes(),
            names=len(space),
            threads_saved=self._saved,
        )

    def _candidates(self, until: float) -> list[tuple[str, float]]:
        """Read the due hosts, at most five times a second, since turns come as fast as answers
        do.
        """
        now = time.monotonic()
        if now - self._read_at >= TICK_SECONDS:
            self._read_at = now
            pinned = (
                [(name, self._resolver.clock()) for name in pinned_names()]
                if self._place == 0
                else []
            )
            found = due_names(until, place=self._place, machines=self._machines)
            self._due = [*pinned, *((one.name, one.due) for one in found)]
            self._ranks = {one.name: one.rank for one in found}
        return self._due

    def _hand_everything_in(self) -> None:
        try:
            if self._slots.held:
                self._slots.hand_in("it was told to end")
            if self._began:
                self._reads.close()
                self._slots.settle()
                end_heartbeat(self._machine)
        except PASSING as error:
            logger.warning("left without a word", extra={"error": str(error)})
        finally:
            self._seat.close()
            connections.close_all()
