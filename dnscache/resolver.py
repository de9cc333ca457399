"""Names to addresses: this process's memory, then PostgreSQL, then a name server.

Nothing expired is ever served. All database work happens in the calling thread and outside any look-up, so that no transaction
waits for the network (call it outside any of your own); the threads of a pool only talk to name servers. A thread of the
caller's that resolves has used Django's connection and closes it when it ends, as after any query.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from enum import StrEnum

from dnscache import store
from dnscache.answers import LONGEST_TTL_SECONDS, MOST_TRIES, Answer, Reply, Status, answer_from
from dnscache.errors import DnsCacheError
from dnscache.lookup import TRY_SECONDS, Server, ask
from dnscache.memory import Flight, Memory
from dnscache.names import read_host

MOST_ANSWERS_IN_MEMORY = 100_000


class Source(StrEnum):
    """Where an answer came from; LITERAL: the text itself, an address or a name that is refused."""

    LITERAL = "literal"
    MEMORY = "memory"
    DATABASE = "database"
    LOOKUP = "lookup"


@dataclass(frozen=True, slots=True)
class Resolution:
    """An answer as it stands now; all times in seconds.

    `ttl` is what is left of the answer's life (of the back-off after a failure), `age` how old it is, `waited` what the caller
    waited. `tries` counts the look-ups in a row that failed; 0 with `Status.TIMEOUT`: the deadline passed before anybody was asked.
    """

    name: str
    status: Status
    addresses: tuple[str, ...]
    ttl: float
    age: float
    source: Source
    waited: float
    error: str = ""
    tries: int = 0

    @property
    def given_up(self) -> bool:
        """Whether the name has failed as often as it may (SEEDS B9)."""
        return self.tries >= MOST_TRIES


class Resolver:
    """A cache of answers; the module's functions use one per process. `servers` None: those of the settings."""

    def __init__(
        self,
        *,
        servers: tuple[Server, ...] | None = None,
        clock: Callable[[], float] = time.time,
        capacity: int = MOST_ANSWERS_IN_MEMORY,
    ) -> None:
        self._servers, self._clock, self._memory = servers, clock, Memory(capacity)

    def resolve(self, host: str, *, deadline: float = 5.0) -> Resolution:
        """Return the addresses of a host, or why there are none; never raises for what a host is or does."""
        return self.resolve_many([host], parallel=1, deadline=deadline)[host]

    def resolve_many(self, hosts: Iterable[str], *, parallel: int, deadline: float) -> dict[str, Resolution]:
        """Return a resolution for each host, as spelt, within about `deadline` seconds.

        At most `parallel` names are looked up at a time; a look-up that another thread has under way is joined instead.
        """
        begun = time.monotonic()
        until = begun + deadline
        resolutions: dict[str, Resolution] = {}
        names: dict[str, str] = {}
        for host in hosts:
            try:
                read = read_host(host)
            except DnsCacheError as error:
                resolutions[host] = Resolution(host, Status.REFUSED_NAME, (), 0, 0, Source.LITERAL, 0, str(error))
                continue
            if read.is_literal:
                resolutions[host] = Resolution(read.text, Status.OK, (read.text,), LONGEST_TTL_SECONDS, 0, Source.LITERAL, 0)
            else:
                names[host] = read.text
        answers = self._answers(set(names.values()), parallel, until)
        now, waited = self._clock(), time.monotonic() - begun
        for host, name in names.items():
            resolutions[host] = _resolution(name, answers.get(name), now, waited)
        return resolutions

    def forget(self, names: Iterable[str] | None = None) -> None:
        """Drop what this process remembers of these names, or everything."""
        self._memory.forget(None if names is None else list(names))

    def _answers(self, names: set[str], parallel: int, until: float) -> dict[str, tuple[Answer, Source]]:
        now = self._clock()
        found = {name: (answer, Source.MEMORY) for name in names if (answer := self._memory.fresh(name, now))}
        if len(found) == len(names):
            return found
        fresh, led, joined = self._memory.join(names - found.keys(), now)
        found.update((name, (answer, Source.MEMORY)) for name, answer in fresh.items())
        if led:
            found.update(self._lead(led, parallel, until))
        # Only now: whoever waited for others before landing its own flights could wait in a circle.
        for name, flight in joined.items():
            flight.landed.wait(max(0.0, until - time.monotonic()))
            if flight.answer:
                found[name] = flight.answer, Source.LOOKUP
        return found

    def _lead(self, flights: Mapping[str, Flight], parallel: int, until: float) -> dict[str, tuple[Answer, Source]]:
        """Get the answers for the flights from the store or the network, and land every one of them whatever happens."""
        found: dict[str, tuple[Answer, Source]] = {}
        try:
            known = store.read(flights.keys())
            now = self._clock()
            for name, answer in known.items():
                if answer.is_fresh(now):
                    found[name] = answer, Source.DATABASE
                    self._memory.land(name, answer)
            for name, reply in self._look_up([name for name in flights if name not in found], parallel, until):
                if _is_evidence(reply):
                    answer = answer_from(name, reply, previous=known.get(name), now=self._clock())
                    found[name] = answer, Source.LOOKUP
                    self._memory.land(name, answer)
        finally:
            for name in flights.keys() - found.keys():
                self._memory.land(name, None)
        store.write([answer for answer, source in found.values() if source is Source.LOOKUP])
        return found

    def _look_up(self, names: list[str], parallel: int, until: float) -> Iterator[tuple[str, Reply]]:
        """Yield replies as they come."""

        def one(name: str) -> tuple[str, Reply]:
            return name, ask(name, seconds=until - time.monotonic(), servers=self._servers)

        if len(names) <= 1 or parallel <= 1:
            yield from map(one, names)
            return
        with ThreadPoolExecutor(min(parallel, len(names)), thread_name_prefix="dns") as pool:
            for done in as_completed([pool.submit(one, name) for name in names]):
                yield done.result()


def _is_evidence(reply: Reply) -> bool:
    """Silence counts as a failure only if the server had the whole of a first try to answer."""
    return reply.status is not Status.TIMEOUT or reply.resolve_ms >= 1000 * TRY_SECONDS[0]


def _resolution(name: str, found: tuple[Answer, Source] | None, now: float, waited: float) -> Resolution:
    if found is None:
        error = "the deadline passed before a name server had the time to answer"
        return Resolution(name, Status.TIMEOUT, (), 0, 0, Source.LOOKUP, waited, error)
    answer, source = found
    reply = answer.reply
    left, age = max(0.0, answer.fresh_until - now), max(0.0, now - answer.resolved_at)
    return Resolution(name, reply.status, reply.addresses, left, age, source, waited, reply.error, answer.fails)


_process_wide = Resolver()
resolve = _process_wide.resolve
resolve_many = _process_wide.resolve_many
forget = _process_wide.forget
