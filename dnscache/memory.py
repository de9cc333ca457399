"""The answers that this process has at hand, and who is getting one right now."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dnscache.answers import Answer
from dnscache.regions.entry import Entry
from dnscache.regions.space import CacheSpace, Dropped

PURGE_EVERY_SECONDS = 60.0


class Flight:
    """A look-up that others may join: one thread leads, the rest wait for `entry`."""

    def __init__(self) -> None:
        self.entry: Entry | None = None
        self.landed = threading.Event()

    def land(self, entry: Entry | None) -> None:
        """Wake those who wait; None if nothing was learnt."""
        self.entry = entry
        self.landed.set()


@dataclass
class Boarding:
    """What becomes of names that are wanted: served, the flights that the caller now leads and must land, those of others."""

    served: dict[str, Entry] = field(default_factory=dict)
    led: dict[str, Flight] = field(default_factory=dict)
    joined: dict[str, Flight] = field(default_factory=dict)


class Memory:
    """A cache space for any number of threads: reads take no lock, writes one."""

    def __init__(self, capacity: int) -> None:
        self.space = CacheSpace(capacity)
        #: what left lately, the newest last
        self.dropped: list[Dropped] = []
        #: names that must not make room for others, because they are due soon
        self.needed: Collection[str] = ()
        self._flights: dict[str, Flight] = {}
        self._lock = threading.Lock()
        self._purge_at = 0.0

    def serve(self, name: str, now: float) -> Entry | None:
        """Return the answer if nobody need be asked, and count the hit."""
        entry = self.space.get(name, now)
        if entry is not None:
            return entry
        entry = self.space.entries.get(name)
        if entry is None or not entry.may_be_served(now):
            return None
        entry.touch(now)
        return entry

    def board(self, names: Collection[str], now: float) -> Boarding:
        """Serve, lead or join each name."""
        boarding = Boarding()
        with self._lock:  # one look at both: between them a flight could land and be missed
            for name in names:
                if entry := self.serve(name, now):
                    boarding.served[name] = entry
                elif name in self._flights:
                    boarding.joined[name] = self._flights[name]
                else:
                    boarding.led[name] = self._flights[name] = Flight()
        return boarding

    def take_off(self, name: str) -> Flight | None:
        """Begin to lead a flight whether or not there is an answer, to renew it; None if another has one under way."""
        with self._lock:
            if name in self._flights:
                return None
            flight = self._flights[name] = Flight()
            return flight

    def land(self, name: str, answer: Answer | None, now: float) -> Entry | None:
        """End the flight that the caller leads; keep its answer and return it as kept."""
        with self._lock:
            entry = None if answer is None else self._keep(answer, now)
            flight = self._flights.pop(name)
        flight.land(entry)
        return entry

    def adopt(self, entries: Iterable[tuple[str, Entry]], now: float) -> int:
        """Take in entries that others left behind, each with its registered name, up to the capacity; return how many.

        Where an answer is at hand, that one stays.
        """
        space, before = self.space, len(self.space.entries)
        with self._lock, _without_collections():
            for first, entry in entries:
                if len(space.entries) >= space.capacity:
                    break
                if entry.name not in space.entries:
                    space.adopt(entry, now, first=first)
        return len(space.entries) - before

    def forget(self, names: Collection[str] | None = None) -> None:
        """Drop the answers for these names, or all."""
        with self._lock:
            for name in list(self.space.entries) if names is None else names:
                self.space.remove(name)

    def forget_where(self, doomed: Callable[[Entry], bool]) -> None:
        """Drop the answers of which `doomed` is true."""
        with self._lock:
            for name in [name for name, entry in self.space.entries.items() if doomed(entry)]:
                self.space.remove(name)

    def _keep(self, answer: Answer, now: float) -> Entry:
        if now >= self._purge_at:
            self._note(self.space.purge(now))
            self._purge_at = now + PURGE_EVERY_SECONDS
        self._note(self.space.put(answer, now, needed=self.needed))
        return self.space.entries[answer.name]

    def _note(self, dropped: list[Dropped]) -> None:
        self.dropped = [*self.dropped, *dropped][-100:] if dropped else self.dropped


@contextmanager
def _without_collections() -> Iterator[None]:
    """A million new objects make Python look through all of them again and again for garbage that isn't there."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
