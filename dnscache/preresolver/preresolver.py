"""Resolves the names of hosts before they are needed (SEEDS D1-D3).

The module is independent of frontier and pools.

One thread, the caller's, reads which hosts are due, writes the database and delivers answers; the
threads of two lanes only communicate with name servers. A name that is not answered within a second
goes on in the slow lane, where it blocks no other.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from queue import Empty, SimpleQueue

from django.db.models import QuerySet
from django.db.models.functions import Now

from dnscache.lookup import Server, configured_servers, query_name
from dnscache.models import DnsPreResolver
from dnscache.name_servers import LookupBudget
from dnscache.preresolver.gate import ALIVE_SECONDS
from dnscache.preresolver.lanes import Lane, LookupJob
from dnscache.preresolver.plan import (
    LOOK_AHEAD_SECONDS,
    MOST_THREADS,
    Agenda,
    LookupRate,
    MadeUpNameDetector,
    needs_look_up,
    threads_for,
)
from dnscache.protocol.answers import DnsStatus, Reply, answer_of_reply
from dnscache.regions.entry import CachedAnswer
from dnscache.resolution import AnswerSource, Resolution, resolution_of
from dnscache.resolver import Resolver

#: the seconds that the tries of each lane wait; a name without an answer in the main lane continues
#: in the slow lane
MAIN_TRIES, SLOW_TRIES = (1.0,), (2.0, 5.0)
#: the time for which a new pre-resolver stays below the limits of the servers
RAMP_SECONDS = 10.0
#: the time that a lane's threads have to end; a thread that waits for a silent server is left
#: running, since it uses only a socket
CLOSING_SECONDS = 1.0

#: the hosts that come due before the given moment, with their times: `candidates(until)`
Candidates = Callable[[float], Iterable[tuple[str, float]]]
#: the order in which names are looked up, the lowest first: `rank(name, due)`
Rank = Callable[[str, float], float]
#: takes the answers of hosts, in batches, by the spellings that `candidates` gave; called in the
#: thread that runs the turns
Deliver = Callable[[dict[str, Resolution]], None]
HEARTBEAT_SECONDS = 1.0
#: the time without a heartbeat after which a machine is deleted
HEARTBEAT_KEPT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class LaneState:
    main_threads: int
    main_depth: int
    slow_threads: int
    slow_depth: int
    counts: dict[str, int]


class PreResolver:
    """Call `turn` again and again in a thread of your own, then `close`.

    `slots` is the number of look-ups that may be under way.
    """

    def __init__(
        self,
        resolver: Resolver,
        *,
        candidates: Candidates,
        deliver: Deliver,
        slots: Callable[[], int],
        ramp_seconds: float = RAMP_SECONDS,
        rank: Rank = lambda name, due: due,
    ) -> None:
        self._resolver, self._memory = resolver, resolver.memory
        self._candidates, self._deliver, self._slots = candidates, deliver, slots
        self._rank = rank
        now = time.monotonic()
        self._pace = LookupRate(now)
        self._budget = LookupBudget(self._servers_to_ask, ramp_seconds=ramp_seconds)
        self._main = Lane("main", lambda job: self._look_up(job, MAIN_TRIES))
        self._slow = Lane("slow", lambda job: self._look_up(job, SLOW_TRIES))
        self._replies: SimpleQueue[tuple[LookupJob, Reply | None, bool]] = SimpleQueue()
        self._agenda = Agenda()
        self._queued: set[str] = set()  # names in a lane, waiting or under way
        self._begun: set[str] = set()  # the look-ups of these names that this object must end
        self._crowds = MadeUpNameDetector(now)
        self.counts: Counter[str] = Counter()

    def do_round(self, *, wait: float) -> None:
        """Read the due names, start look-ups, and deliver known and new answers. If there is
        nothing to do, wait for `wait` seconds.
        """
        now = self._resolver.clock()
        found = self._agenda.read(self._candidates(now + LOOK_AHEAD_SECONDS))
        self._memory.needed = self._agenda.dues
        self._resolver.recall(self._agenda.dues.keys() - self._queued, now)
        for name, due in self._agenda.dues.items():
            entry = self._memory.space.find(name)
            if needs_look_up(entry, due=due, now=now):
                self._enqueue_look_up(name, due, is_new=entry is None)
            if entry is not None and entry.may_be_served(now):
                found |= self._agenda.by_spelling(
                    resolution_of(entry, AnswerSource.MEMORY, now=now, waited=0)
                )
        self._resize_lanes()
        self._budget.refill(min(len(self._queued), self._slots()))
        self._deliver_answers(self._agenda.unreported_hosts(found))
        self._deliver_answers(self._store_replies(wait))

    @property
    def under_way(self) -> int:
        return self._main.busy + self._slow.busy

    def lanes(self) -> LaneState:
        """The state of the lanes, to be sent as a heartbeat."""
        return LaneState(
            self._main.size, self._main.depth, self._slow.size, self._slow.depth, dict(self.counts)
        )

    def close(self) -> None:
        """Give up the look-ups under way; callers that joined them get no answer."""
        self._budget.close()
        for lane in (self._main, self._slow):
            lane.close(CLOSING_SECONDS)
        for name in self._begun:
            self._memory.end_lookup(name, None, self._resolver.clock())
        self._begun.clear()

    def _deliver_answers(self, found: dict[str, Resolution]) -> None:
        if found:
            self._deliver(found)
            self._agenda.note(found)

    def _enqueue_look_up(self, name: str, due: float, *, is_new: bool) -> None:
        """Queue a name.

        A caller that needs the name sooner looks it up itself, and does not wait for the lane.
        """
        if name in self._queued:
            return
        self._queued.add(name)
        now = time.monotonic()
        self._pace.note_begin(1, now)
        lane = self._slow if is_new and self._crowds.exceeds_limit(name, now) else self._main
        lane.add_job(LookupJob(self._rank(name, due), name, due))
        self.counts["queued"] += 1

    def _resize_lanes(self) -> None:
        now, slots = time.monotonic(), self._slots()
        slow = min(slots // 2, self._slow.depth, MOST_THREADS)
        if slots == 1:  # the lanes take turns
            slow = int(self._slow.depth > 0 and self._main.depth == 0)
        main = slots - max(slow, self._slow.busy)
        pace = {"per_second": self._pace.per_second(now), "seconds": self._pace.seconds(now)}
        self._main.resize(
            threads_for(names=len(self._queued), most=main, **pace) if main > 0 else 0
        )
        # jobs at work in the other lane finish first
        self._slow.resize(min(slow, slots - self._main.busy))

    def _look_up(self, job: LookupJob, tries: tuple[float, ...]) -> None:
        """Look the name up, in a lane's thread, no faster than the servers' limits allow."""
        servers = self._budget.take()
        if servers is None:
            return
        reply = None
        if job.name in self._begun or self._begin_lookup(job):
            reply = query_name(
                job.name, seconds=sum(tries), servers=servers, tries=tries, is_paid=True
            )
        elif servers:
            self._budget.give_back(servers[0])
        self._budget.done()
        self._replies.put((job, reply, tries is SLOW_TRIES))

    def _servers_to_ask(self) -> tuple[Server, ...]:
        return configured_servers() if self._resolver.servers is None else self._resolver.servers

    def _begin_lookup(self, job: LookupJob) -> bool:
        """Begin the look-up. Return False if another thread has the answer by now, or is looking
        the name up.
        """
        now = self._resolver.clock()
        if (
            not needs_look_up(self._memory.find(job.name, now), due=job.due, now=now)
            or self._memory.begin_renewal(job.name) is None
        ):
            return False
        self._begun.add(job.name)
        return True

    def _store_replies(self, wait: float) -> dict[str, Resolution]:
        """Wait for a reply, store all replies that have come, and return their answers for the due
        hosts.
        """
        entries: list[CachedAnswer] = []
        try:
            reply = self._replies.get(timeout=wait)
            while True:
                if entry := self._store_reply(*reply):
                    entries.append(entry)
                reply = self._replies.get_nowait()
        except Empty:
            pass
        self._resolver.writer.write_entries(entries)
        now = self._resolver.clock()
        learnt = [
            resolution_of(entry, AnswerSource.LOOKUP, now=now, waited=0, just_asked=True)
            for entry in entries
        ]
        return {
            host: one
            for resolved in learnt
            for host, one in self._agenda.by_spelling(resolved).items()
        }

    def _store_reply(
        self, job: LookupJob, reply: Reply | None, is_final: bool
    ) -> CachedAnswer | None:
        """Store the answer, or pass the name on to the slow lane."""
        if reply is None:
            self._queued.discard(job.name)
            return None
        if not is_final:
            self._pace.note_end(reply.resolve_ms / 1000, time.monotonic())
            if reply.status is DnsStatus.TIMEOUT:
                self.counts["cut"] += 1
                self._slow.add_job(job)
                return None
        self._queued.discard(job.name)
        self._begun.discard(job.name)
        self.counts[reply.status] += 1
        now = self._resolver.clock()
        previous = self._memory.space.find(job.name)
        answer = answer_of_reply(
            job.name, reply, previous=previous.answer if previous else None, now=now
        )
        return self._memory.end_lookup(job.name, answer, now)


def send_heartbeat(
    machine: str, *, slots: int, lanes: LaneState, names: int, threads_saved: float
) -> tuple[int, int]:
    """Write a heartbeat.

    Returns the machine's index among those alive, from 0, and their number.

    Machines divide the names by these numbers. While a machine joins or leaves, two may look up the
    same name, which does no harm.
    """
    depths = {
        key: getattr(lanes, key)
        for key in ("main_threads", "main_depth", "slow_threads", "slow_depth", "counts")
    }
    told = {
        "beat_at": Now(),
        "slots": slots,
        "names": names,
        "threads_saved": threads_saved,
        **depths,
    }
    DnsPreResolver.objects.update_or_create(machine=machine, defaults=told)
    DnsPreResolver.objects.filter(beat_at__lt=Now() - HEARTBEAT_KEPT).delete()
    alive = sorted(live_pre_resolvers().values_list("machine", flat=True))
    return alive.index(machine), len(alive)


def live_pre_resolvers() -> QuerySet[DnsPreResolver]:
    """The pre-resolvers that have sent a heartbeat recently."""
    return DnsPreResolver.objects.filter(beat_at__gt=Now() - timedelta(seconds=ALIVE_SECONDS))


def end_heartbeat(machine: str) -> None:
    """Delete the heartbeat of this machine, so that the gate opens at once."""
    DnsPreResolver.objects.filter(machine=machine).delete()
