"""The rules of hosts. Rendezvous hashing decides which of a run's processes serves a host (SEEDS
W5, W14): so a host usually stays with its process. Its loads are bounded (Mirrokni, Thorup and
Zadimoghaddam 2018): so two processes with two hosts get one each. Further rules say how many
requests a host may get in a minute and in a day, from all crawls together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from xxhash import xxh3_64_intdigest

from crawling.orders.sections.politeness import PolitenessPart

#: with this many hosts a process, chance distributes them evenly enough, and each host goes to the
#: process that its hash names
EVEN_FROM = 64
#: with fewer hosts, no process has more than this multiple of the mean, rounded up to a whole host
SLACK = 1.25


def process_number_of(host_key: str, processes: Sequence[int]) -> int:
    """Return the process number that serves the host.

    If a process leaves, only its own hosts move.
    """
    return _processes_by_preference(host_key, processes)[0]


def place_hosts(
    host_keys: Iterable[str], processes: Sequence[int], loads: Counter[int]
) -> list[int]:
    """Return the numbers of the processes that serve these hosts, placed one after the other.
    `loads`, the hosts of each number, is updated.

    A host goes to the first number of its preference that has room. Hosts that are placed in the
    same order again get the same places.
    """
    placed = []
    for host_key in host_keys:
        mean = (loads.total() + 1) / len(processes)
        most = max(ceil(mean), int(SLACK * mean)) if mean <= EVEN_FROM else loads.total() + 1
        number = next(
            number
            for number in _processes_by_preference(host_key, processes)
            if loads[number] < most
        )
        loads[number] += 1
        placed.append(number)
    return placed


def _processes_by_preference(host_key: str, processes: Sequence[int]) -> list[int]:
    return sorted(
        processes,
        key=lambda number: (xxh3_64_intdigest(f"{number} {host_key}".encode()), number),
        reverse=True,
    )


@dataclass(frozen=True, slots=True)
class RequestsSpent:
    #: the time of the last request; None if there was none
    at: datetime | None = None
    #: requests in the same minute (UTC) as the last request
    in_minute: int = 0
    #: requests on the same day (UTC) as the last request
    in_day: int = 0

    def add_request(self, now: datetime) -> RequestsSpent:
        return RequestsSpent(now, self._spent_in_minute(now) + 1, self._spent_in_day(now) + 1)

    def _spent_in_minute(self, now: datetime) -> int:
        return (
            self.in_minute if self.at and _start_of_minute(self.at) == _start_of_minute(now) else 0
        )

    def _spent_in_day(self, now: datetime) -> int:
        return self.in_day if self.at and self.at.date() == now.date() else 0

    def seconds_to_wait(self, politeness: PolitenessPart, now: datetime) -> float:
        """Seconds until the crawl's budget allows another request."""
        a_day, a_minute = politeness.host_requests_a_day, politeness.host_requests_a_minute
        if a_day is not None and self._spent_in_day(now) >= a_day:
            tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
            return (tomorrow - now).total_seconds()
        if a_minute is not None and self._spent_in_minute(now) >= a_minute:
            return (_start_of_minute(now) + timedelta(minutes=1) - now).total_seconds()
        return 0.0


NOTHING_SPENT = RequestsSpent()


def _start_of_minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)
