"""Finds the addresses of names: in this process's memory, then in PostgreSQL, then from a name
server.

An expired address is served only if its renewal failed; it is then marked as `stale`. All database
work happens in the calling thread and outside any look-up, so that no transaction waits for the
network (call it outside any of your own); the threads of a pool only communicate with name servers.
A thread that calls this has used Django's connection and must close it when it ends, as after any
query.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Protocol

from dnscache import store
from dnscache.answer_cache import AnswerCache, FlushWatch, PendingLookup, forget_flushed
from dnscache.lookup import TRY_SECONDS, Server, query_name
from dnscache.models import DnsFlush
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply, answer_of_reply
from dnscache.protocol.names import DnsCacheError, levels_of, read_host
from dnscache.regions.entry import CachedAnswer
from dnscache.resolution import (
    AnswerSource,
    Resolution,
    literal_resolution,
    refused_resolution,
    resolution_of,
    unanswered_resolution,
)

__all__ = [
    "AnswerSource",
    "Resolution",
    "Resolver",
    "apply_flush",
    "forget",
    "resolve",
    "resolve_many",
]

MOST_ANSWERS_IN_MEMORY = 100_000
#: the longest time for which a caller with stale addresses waits for fresh ones (RFC 8767)
STALE_AFTER_SECONDS = 1.8

Found = dict[str, tuple[CachedAnswer, AnswerSource]]


class AnswerWriter(Protocol):
    """Stores answers: at once (`store`), or later (`WriteBehind`)."""

    def write_entries(self, entries: Collection[CachedAnswer]) -> None: ...


class Resolver:
    """A cache of answers; the module's functions use one per process.

    `servers`: None for those of the settings.
    """

    def __init__(
        self,
        *,
        servers: tuple[Server, ...] | None = None,
        clock: Callable[[], float] = time.time,
        capacity: int = MOST_ANSWERS_IN_MEMORY,
        writer: AnswerWriter = store,
    ) -> None:
        self.servers, self.clock, self.writer = servers, clock, writer
        self.memory = AnswerCache(capacity)
        self._flushes = FlushWatch(self.memory)
        self._turns = count()

    def resolve(self, host: str, *, deadline: float = 5.0) -> Resolution:
        """The addresses of a host, or the reason why there are none. A fault of the host raises no
        exception.
        """
        # a fresh answer for exactly this spelling is in memory, so nothing need be read or awaited
        if self.memory.knows(host):
            now = self.clock()
            self._flushes.apply_new_flushes(now)
            if entry := self.memory.serve(host, now):
                return resolution_of(
                    entry, AnswerSource.MEMORY, now=now, waited=0.0, turn=next(self._turns)
                )
        return self.resolve_many([host], parallel=1, deadline=deadline)[host]

    def resolve_many(
        self, hosts: Iterable[str], *, parallel: int, deadline: float
    ) -> dict[str, Resolution]:
        """Return a resolution for each host, by its spelling, within about `deadline` seconds.

        At most `parallel` names are looked up at a time. If another thread is looking a name up
        already, its answer is awaited.
        """
        begun = time.monotonic()
        resolutions: dict[str, Resolution] = {}
        names: dict[str, str] = {}
        for host in hosts:
            try:
                read = read_host(host)
            except DnsCacheError as error:
                resolutions[host] = refused_resolution(host, str(error))
            else:
                if read.is_literal:
                    resolutions[host] = literal_resolution(read.text)
                else:
                    names[host] = read.text
        found = self._answers_for(set(names.values()), parallel, begun + deadline)
        now, waited, turn = self.clock(), time.monotonic() - begun, next(self._turns)
        for host, name in names.items():
            if name in found:
                entry, source = found[name]
                asked = source is AnswerSource.LOOKUP
                resolutions[host] = resolution_of(
                    entry, source, now=now, waited=waited, turn=turn, just_asked=asked
                )
            else:
                resolutions[host] = unanswered_resolution(name, waited)
        return resolutions

    def load_stored_answers(self) -> int:
        """Take over the answers that earlier processes stored, the most useful first. Return their
        number.
        """
        now = self.clock()
        return self.memory.load_rows(store.stored_rows(most=self.memory.space.capacity, now=now))

    def recall(self, names: Iterable[str], now: float) -> None:
        """Read the names from PostgreSQL that this process does not have in memory, and apply
        flushes.
        """
        self._flushes.apply_new_flushes(now)
        known = store.read_answers([name for name in names if self.memory.find(name, now) is None])
        self.memory.adopt(
            [
                (levels_of(name).first, CachedAnswer(answer, now=now))
                for name, answer in known.items()
            ],
            now,
        )

    def forget(self, names: Iterable[str] | None = None) -> None:
        """Drop these names from this process's memory, or all names."""
        self.memory.forget(None if names is None else list(names))

    def apply_flush(self, flush: DnsFlush) -> None:
        """Drop the flushed names at once. Other processes notice the flush later."""
        forget_flushed(flush, self.memory)

    def _answers_for(self, names: set[str], parallel: int, until: float) -> Found:
        now = self.clock()
        if names:
            self._flushes.apply_new_flushes(now)
        found: Found = {
            name: (entry, AnswerSource.MEMORY)
            for name in names
            if (entry := self.memory.serve(name, now))
        }
        if len(found) == len(names):
            return found
        results = self.memory.begin_lookups(names - found.keys(), now)
        found.update((name, (entry, AnswerSource.MEMORY)) for name, entry in results.served.items())
        if results.begun:
            found.update(self._resolve_lookups(results.begun, parallel, until))
        # The look-ups of other threads are awaited last: threads that wait for others before they
        # finish their own look-ups could wait for each other for ever.
        for name, lookup in results.joined.items():
            lookup.is_done.wait(max(0.0, until - time.monotonic()))
            if lookup.entry:
                found[name] = lookup.entry, AnswerSource.LOOKUP
        return found

    def _resolve_lookups(
        self, lookups: Mapping[str, PendingLookup], parallel: int, until: float
    ) -> Found:
        """Get the answers for these look-ups from the store or the network, and end every one of
        them, whatever happens.
        """
        found: Found = {}
        try:
            known = self._previous_answers(lookups.keys())
            now = self.clock()
            for name, answer in known.items():
                if answer.may_be_served(now) and (
                    entry := self.memory.end_lookup(name, answer, now)
                ):
                    found[name] = entry, AnswerSource.DATABASE
            self._look_up_all(
                [name for name in lookups if name not in found], found, known, parallel, until
            )
        finally:
            for name in lookups.keys() - found.keys():
                self.memory.end_lookup(name, None, self.clock())
        self.writer.write_entries(
            [entry for entry, source in found.values() if source is AnswerSource.LOOKUP]
        )
        return found

    def _previous_answers(self, names: Collection[str]) -> dict[str, DnsAnswer]:
        """The last answers: usually the stored ones, but a `WriteBehind` may not have stored one
        yet.
        """
        known = {name: entry.answer for name in names if (entry := self.memory.space.find(name))}
        for name, answer in store.read_answers(names).items():
            if name not in known or (known[name].resolved_at, known[name].fails) <= (
                answer.resolved_at,
                answer.fails,
            ):
                known[name] = answer
        return known

    def _look_up_all(
        self,
        names: list[str],
        found: Found,
        known: Mapping[str, DnsAnswer],
        parallel: int,
        until: float,
    ) -> None:
        """Look names up and add their answers to `found`.

        Each thread hands over the answer that it looked up itself, so that no other thread has to
        be woken.
        """
        now = self.clock()
        patience = {
            name: STALE_AFTER_SECONDS
            for name in names
            if name in known and known[name].is_usable_stale(now)
        }

        def look_up_one(name: str) -> None:
            left = until - time.monotonic()
            reply = query_name(
                name, seconds=min(left, patience.get(name, left)), servers=self.servers
            )
            now = self.clock()
            if _is_evidence(reply):
                answer = answer_of_reply(name, reply, previous=known.get(name), now=now)
                if entry := self.memory.end_lookup(name, answer, now):
                    found[name] = entry, AnswerSource.LOOKUP

        _for_each(look_up_one, names, threads=min(parallel, len(names)))


def _for_each(work: Callable[[str], None], names: list[str], *, threads: int) -> None:
    """Do the work for every name.

    A future for each name would take a fifth of the time of a look-up, so each thread has one.
    """
    waiting = iter(names)

    def run_queue() -> None:
        # the next item of a list is taken in one step, so no two threads get the same item
        for name in waiting:
            work(name)

    if threads <= 1:
        return run_queue()
    with ThreadPoolExecutor(threads, thread_name_prefix="dns") as pool:
        for worker in [pool.submit(run_queue) for _ in range(threads)]:
            worker.result()  # result() raises only what a fault of ours can have raised


def _is_evidence(reply: Reply) -> bool:
    """Whether the reply shows anything about the name: silence counts as a failure only if the
    server had the time of a whole first try.
    """
    return reply.status is not DnsStatus.TIMEOUT or reply.resolve_ms >= 1000 * TRY_SECONDS[0]


_process_wide = Resolver()
resolve = _process_wide.resolve
resolve_many = _process_wide.resolve_many
forget = _process_wide.forget
apply_flush = _process_wide.apply_flush
