"""Waiting for what nothing announces."""

from __future__ import annotations

import time


def pause(began: float) -> None:
    """Sleep between two checks, in a wait that began at this monotonic time.

    The longer it has taken, the rarer are the checks, down to ten a second: a check takes
    milliseconds of the processor, which the awaited processes need.
    """
    passed = time.monotonic() - began
    time.sleep(min(0.1, max(0.02, passed / 20)))
