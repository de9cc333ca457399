"""Which of a run's processes serves a host (SEEDS W5, W14): rendezvous hashing, so that a host stays where it is."""

from __future__ import annotations

from collections.abc import Sequence

from xxhash import xxh3_64_intdigest


def place(host_key: str, processes: Sequence[int]) -> int:
    """Return the process number that serves the host. A number that leaves moves only its own hosts."""
    return max(processes, key=lambda number: (xxh3_64_intdigest(f"{number} {host_key}".encode()), number))
