"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable


def await_change(
    condition: Callable[[], object], failure: str, *, seconds: float, every: float = 0.05
) -> None:
    """Look until it is so, every so many seconds. Exits with `failure` after `seconds`."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise SystemExit(f"{failure} ({seconds:.0f} s)")
        # rows, locks, ports and registries that other processes write: none of them notifies, and a
        # closer look would take from what is measured
        time.sleep(every)
