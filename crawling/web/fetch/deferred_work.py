"""Work that a thread defers until it has to wait for a server.

Python runs one thread at a time, and a thread switch costs more than a short wait. A thread that
reads a page while the host answers its next request needs no switch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

#: the most work that a thread defers: while another process reads a page, the host answers two
#: requests
MOST_DEFERRED = 2


class DeferredWork(NamedTuple):
    work: Callable[[], None]
    #: whether nothing has to be waited for
    is_ready: Callable[[], bool]


_deferred: ContextVar[deque[DeferredWork] | None] = ContextVar("deferred", default=None)


def defer_work(work: Callable[[], None], is_ready: Callable[[], bool] = lambda: True) -> None:
    """Queue work that this thread does while it waits for the next answer, once the work is ready.
    Beyond the limit, the oldest work is done now. The caller must call `do_next_deferred` if no
    request follows.
    """
    waiting = _deferred.get()
    if waiting is None:
        _deferred.set(waiting := deque())
    while len(waiting) >= MOST_DEFERRED:
        waiting.popleft().work()
    waiting.append(DeferredWork(work, is_ready))


def has_deferred_work() -> bool:
    """Whether this thread has work that it has deferred."""
    return bool(_deferred.get())


def do_ready_work() -> bool:
    """Do the work that this thread has deferred, up to the first that is not ready. Return whether
    there was any.
    """
    waiting, has_done = _deferred.get(), False
    while waiting and waiting[0].is_ready():
        waiting.popleft().work()
        has_done = True
    return has_done


def do_next_deferred() -> bool:
    """Do all work that this thread has deferred. Return whether there was any."""
    waiting, has_done = _deferred.get(), False
    while waiting:
        waiting.popleft().work()
        has_done = True
    return has_done
