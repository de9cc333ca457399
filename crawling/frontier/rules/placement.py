"""Which of a run's processes serves a host (SEEDS W5, W14): rendezvous hashing, so that a host
stays where it is, with bounded loads (Mirrokni, Thorup and Zadimoghaddam 2018), so that of two
processes with two hosts none is idle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil

from xxhash import xxh3_64_intdigest

#: with so many hosts a process chance has shared them out evenly enough, and each goes where its
#: hash says
EVEN_FROM = 64
#: until then no process has more than so much of the mean, rounded up to a host
SLACK = 1.25


def place(host_key: str, processes: Sequence[int]) -> int:
    """Return the process number that serves the host.

    A number that leaves moves only its own hosts.
    """
    return _by_preference(host_key, processes)[0]


def place_each(
    host_keys: Iterable[str], processes: Sequence[int], loads: Counter[int]
) -> list[int]:
    """Return the numbers that serve these hosts, placed one after the other; `loads`, of hosts by
    number, is updated.

    A host goes to the first number that it would choose and that has room. Placed in the same order
    again, all have the same places.
    """
    placed = []
    for host_key in host_keys:
        mean = (loads.total() + 1) / len(processes)
        most = max(ceil(mean), int(SLACK * mean)) if mean <= EVEN_FROM else loads.total() + 1
        number = next(
            number for number in _by_preference(host_key, processes) if loads[number] < most
        )
        loads[number] += 1
        placed.append(number)
    return placed


def _by_preference(host_key: str, processes: Sequence[int]) -> list[int]:
    return sorted(
        processes,
        key=lambda number: (xxh3_64_intdigest(f"{number} {host_key}".encode()), number),
        reverse=True,
    )
