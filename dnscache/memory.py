"""The answers that this process has at hand, and who is getting one right now."""

from __future__ import annotations

import threading
from collections.abc import Collection

from dnscache.answers import Answer


class Flight:
    """A look-up that others may join: one thread leads, the rest wait for `answer`."""

    def __init__(self) -> None:
        self.answer: Answer | None = None
        self.landed = threading.Event()

    def land(self, answer: Answer | None) -> None:
        """Wake those who wait; None if nothing was learnt."""
        self.answer = answer
        self.landed.set()


class Memory:
    """At most `capacity` answers, the oldest written leaving first. Safe for any number of threads.

    Reads take no lock: an answer is replaced as a whole, never changed.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._answers: dict[str, Answer] = {}
        self._flights: dict[str, Flight] = {}
        self._lock = threading.Lock()

    def fresh(self, name: str, now: float) -> Answer | None:
        """Return the answer if it may still be served."""
        answer = self._answers.get(name)
        return answer if answer is not None and answer.is_fresh(now) else None

    def join(self, names: Collection[str], now: float) -> tuple[dict[str, Answer], dict[str, Flight], dict[str, Flight]]:
        """Return what is fresh, the flights that the caller now leads and must land, and those that others lead."""
        fresh: dict[str, Answer] = {}
        led: dict[str, Flight] = {}
        joined: dict[str, Flight] = {}
        with self._lock:  # one look at both: between them a flight could land and be missed
            for name in names:
                if answer := self.fresh(name, now):
                    fresh[name] = answer
                elif name in self._flights:
                    joined[name] = self._flights[name]
                else:
                    led[name] = self._flights[name] = Flight()
        return fresh, led, joined

    def land(self, name: str, answer: Answer | None) -> None:
        """End the flight that the caller leads, and keep its answer."""
        with self._lock:
            if answer is not None:
                self._keep(answer)
            flight = self._flights.pop(name)
        flight.land(answer)

    def forget(self, names: Collection[str] | None = None) -> None:
        """Drop the answers for these names, or all."""
        with self._lock:
            for name in list(self._answers) if names is None else names:
                self._answers.pop(name, None)

    def _keep(self, answer: Answer) -> None:
        self._answers.pop(answer.name, None)
        if len(self._answers) >= self._capacity:
            del self._answers[next(iter(self._answers))]
        self._answers[answer.name] = answer
