"""The processor time of a shift: one core for its threads, and a lower priority than the web
process.

Python runs one thread of a process at a time. If the system spreads threads over cores, after each
thread switch the interpreter's data are in another core's cache. This took a third of a crawl's
time (docs/decisions/0041).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

#: the names of the sockets that take a core for a shift, and for the reading process of one
NAME, READING_NAME = "\0crawlsite-core-{}", "\0crawlsite-reading-core-{}"
#: the cores that this process was given at its start; empty on systems without this choice
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@contextmanager
def pin_to_one_core() -> Iterator[int | None]:
    """Keep this thread, and threads that it starts, on a core that no other shift of the machine
    has, until the block ends. Yields the core, or None if the threads may use any core, because all
    are taken or there is only one.
    """
    # cores without a reading process come first
    cores = sorted(CORES, key=partial(_is_taken, READING_NAME))
    taken = (
        next(filter(None, map(partial(_take_core, NAME), cores)), None) if len(CORES) > 1 else None
    )
    if taken is None:
        yield None
        return
    core, name = taken
    _set_cores({core})
    try:
        yield core
    finally:
        _set_cores(CORES)
        name.close()


def _take_core(kind: str, core: int) -> tuple[int, socket.socket] | None:
    """Bind a socket to the name of a core, in the kernel's own namespace of sockets. The kernel
    releases the name when the process ends in any way.
    """
    with ExitStack() as stack, suppress(OSError):  # the name is taken, or too many files are open
        name = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        name.bind(kind.format(core))
        stack.pop_all()
        return core, name
    return None


def _is_taken(kind: str, core: int) -> bool:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as looking:
            looking.connect(kind.format(core))
    except OSError:
        return False
    return True


class SpareCore:
    """A core without a shift, for the reading process of a shift. When no other core is free, a
    shift takes it.
    """

    def __init__(self, core: int, name: socket.socket) -> None:
        self.core, self._name = core, name

    @classmethod
    def take(cls) -> SpareCore | None:
        """Take a core that neither a shift nor another reading process has."""
        spare = (core for core in CORES if not _is_taken(NAME, core))
        taken = next(filter(None, map(partial(_take_core, READING_NAME), spare)), None)
        return cls(*taken) if taken and len(CORES) > 1 else None

    def is_wanted(self) -> bool:
        """Whether a shift has taken the core since."""
        return _is_taken(NAME, self.core)

    def give_back(self) -> None:
        self._name.close()


@contextmanager
def allow_all_cores() -> Iterator[None]:
    """Let this thread use any core, for work during which it releases the interpreter's lock."""
    before = os.sched_getaffinity(0) if CORES else ()
    _set_cores(CORES)
    try:
        yield
    finally:
        _set_cores(before)


def _set_cores(cores: Collection[int]) -> None:
    if cores:
        os.sched_setaffinity(0, cores)


NICENESS = 10
#: the niceness of sessions with shifts: beside many page views, shifts keep 55 to 66 % of their
#: rate with 5, and less than half with 10
SESSION_NICENESS = 5
#: the niceness of work that yields to shifts
IDLE_NICENESS = 19
#: Linux shares processors between sessions first, so a niceness counts only within a session. The
#: supervisor and systemd start each process in a session of its own; so does PostgreSQL for each
#: connection
GROUP = Path("/proc/self/autogroup")


def lower_priority_below_pages() -> None:
    """Lower the priority of this work process, and of its worker's session if no other process uses
    it. The session of a worker that was started from a terminal is not its own.
    """
    os.nice(NICENESS)
    if os.getsid(0) == os.getppid():
        lower_session()


def lower_session(niceness: int = SESSION_NICENESS) -> None:
    """Lower the priority of this session. The kernel allows ten such changes a second on the whole
    machine. If it refuses, the next shift or the next check of an idle turn tries again.
    """
    with suppress(OSError):
        if not GROUP.read_text().endswith(f"nice {niceness}\n"):
            GROUP.write_text(str(niceness))


def lower_priority_below_shifts() -> None:
    """Lower the priority of this work process below that of shifts, until `restore_priority`. This
    is done only if its worker has a separate session, in which only the work process works
    meanwhile.
    """
    if _has_single_thread():
        lower_session(IDLE_NICENESS)


def restore_priority() -> None:
    """Give this work process the priority of shifts again, since a user or another process waits
    for it to end.
    """
    if _has_single_thread():
        lower_session(0)


def _has_single_thread() -> bool:
    return os.getsid(0) == os.getppid()
