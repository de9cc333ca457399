"""Calls of a package's code that must end soon: a loop is broken off, and a call that waits for
ever is reported to the worker above, which kills the process.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from crawling.process.vitals import VITALS

T = TypeVar("T")
#: the longest that a call may take
CALL_SECONDS = 1.0
#: a call that was told to end and has not after so long is stuck
STUCK_SECONDS = 5.0
#: how often calls are looked at
LOOK_SECONDS = 0.25


class CallTookTooLong(Exception):
    """It did not return in time."""


class TimeExceeded(BaseException):
    """Raised in the called code, by another thread; no `except Exception` there catches it."""


@dataclass(eq=False)
class WatchedCall:
    """A call under way."""

    thread: int
    #: when it is to end; it is told to end only after this, and never while it is prepared or left
    until: float = math.inf


class CallWatch:
    """A thread that looks at the calls of all others; it starts with the first call."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """In a child after a fork: threads and locks of the parent are not there."""
        self._lock, self._some = threading.Lock(), threading.Event()
        self._calls: set[WatchedCall] = set()
        self._is_watching = False

    def call(self, function: Callable[..., T], *args: object) -> T:
        """Return what it returns. Raises CallTookTooLong, and what it raises."""
        call = WatchedCall(threading.get_ident())
        self._watch(call)
        try:
            try:
                call.until = time.monotonic() + CALL_SECONDS
                return function(*args)
            finally:
                call.until = math.inf
                self._let_go(call)
        except TimeExceeded:
            # A last one, sent before `until` was put off, may have come within `_let_go`.
            self._let_go(call)
            raise CallTookTooLong(f"it did not return within {CALL_SECONDS:g} s") from None

    def _watch(self, call: WatchedCall) -> None:
        with self._lock:
            self._calls.add(call)
            is_first, self._is_watching = not self._is_watching, True
        if is_first:
            threading.Thread(target=self._look, name="call watch", daemon=True).start()
        self._some.set()

    def _let_go(self, call: WatchedCall) -> None:
        with self._lock:
            self._calls.discard(call)

    def _look(self) -> None:
        while True:
            self._some.wait()
            time.sleep(LOOK_SECONDS)  # how late a call that takes too long may be found
            with self._lock:
                now = time.monotonic()
                for call in self._calls:
                    if now > call.until:
                        # Again at each look: the last may have been lost, in a `__del__` or in a
                        # handler of all exceptions.
                        _raise_in(call.thread)
                VITALS.set_stuck(any(now > one.until + STUCK_SECONDS for one in self._calls))
                if not self._calls:
                    self._some.clear()


def _raise_in(thread: int) -> None:
    """It reaches the thread between two instructions of Python, and not within a call that waits
    or computes outside of the interpreter.

    It may not reach a thread that once failed to start another: Python 3.11 keeps the state of that
    one under the same id, and takes the first that it finds. Such a call is stuck, too.
    """
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(TimeExceeded)
    )


CALLS = CallWatch()
os.register_at_fork(after_in_child=CALLS.reset)
