"""One core of the processor for the threads of a shift.

Python runs one thread of a process at a time. Where the system spreads them over cores, each change
of threads finds the interpreter's data in another core's cache: that took a third of a crawl's time
(docs/decisions/0041).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager

#: what a core is taken by
NAME = "\0crawlsite-core-{}"
#: those that this process was given when it was started; empty where a process cannot choose
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@contextmanager
def on_one_core() -> Iterator[int | None]:
    """Keep this thread, and those that it starts, on a core that no other shift of the machine has,
    and say on which; None: on any, since all are taken or there is only one."""
    taken = next(filter(None, map(_take, CORES)), None) if len(CORES) > 1 else None
    if taken is None:
        yield None
        return
    core, name = taken
    _stay_on({core})
    try:
        yield core
    finally:
        _stay_on(CORES)
        name.close()


def _take(core: int) -> tuple[int, socket.socket] | None:
    """Bind a name in the kernel's own space of socket names: it goes with the process, however that
    ends.
    """
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(NAME.format(core))
    except OSError:
        name.close()
        return None
    return core, name


@contextmanager
def on_any_core() -> Iterator[None]:
    """Let this thread run beside the others of its shift, for work in which it leaves the
    interpreter to them.
    """
    before = os.sched_getaffinity(0) if CORES else ()
    _stay_on(CORES)
    try:
        yield
    finally:
        _stay_on(before)


def _stay_on(cores: Collection[int]) -> None:
    if cores:
        os.sched_setaffinity(0, cores)
