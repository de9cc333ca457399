"""Work that a thread defers until it has to wait for a server.

Python runs one thread at a time, and to change threads costs more than a short wait. A thread that
reads a page while the host answers its next request needs no other.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

_deferred: ContextVar[Callable[[], None] | None] = ContextVar("deferred", default=None)


def defer(work: Callable[[], None]) -> None:
    """Let this thread do some work while it waits for the next answer. The caller has to call
    `do_deferred` if no request follows.
    """
    assert not has_deferred()
    _deferred.set(work)


def has_deferred() -> bool:
    """Whether this thread has work that it has deferred."""
    return _deferred.get() is not None


def do_deferred() -> bool:
    """Do this thread's deferred work. Return whether there was any."""
    work = _deferred.get()
    if work is None:
        return False
    _deferred.set(None)
    work()
    return True
