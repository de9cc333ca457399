"""The processor for a shift: one core for its threads, and what people who look at pages leave.

Python runs one thread of a process at a time. Where the system spreads them over cores, each change
of threads finds the interpreter's data in another core's cache: that took a third of a crawl's time
(docs/decisions/0041).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

#: the names of the sockets that take a core for a shift, and for the reading process of one
NAME, READING_NAME = "\0crawlsite-core-{}", "\0crawlsiter-reading-core-{}"
#: the cores that this process was given when it was started; empty where a process cannot choose
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@contextmanager
def on_one_core() -> Iterator[int | None]:
    """Keep this thread, and those that it starts, on a core that no other shift of the machine has,
    and return it; None if it may run on any, since all are taken or there is only one.
    """
    cores = sorted(CORES, key=partial(_is_taken, READING_NAME))  # first those without one
    taken = next(filter(None, map(partial(_take, NAME), cores)), None) if len(CORES) > 1 else None
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


def _take(kind: str, core: int) -> tuple[int, socket.socket] | None:
    """Bind a name in the kernel's own space of socket names: it goes with the process, however that
    ends.
    """
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(kind.format(core))
    except OSError:
        name.close()
        return None
    return core, name


def _is_taken(kind: str, core: int) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as looking:
        try:
            looking.connect(kind.format(core))
        except OSError:
            return False
        return True


class SpareCore:
    """A core that no shift has, for the reading process of a shift. The next shift gets it."""

    def __init__(self, core: int, name: socket.socket) -> None:
        self.core, self._name = core, name

    @classmethod
    def take(cls) -> SpareCore | None:
        """Take a core that neither a shift nor another reading process has."""
        spare = (core for core in CORES if not _is_taken(NAME, core))
        taken = next(filter(None, map(partial(_take, READING_NAME), spare)), None)
        return cls(*taken) if taken and len(CORES) > 1 else None

    def is_wanted(self) -> bool:
        """Whether a shift has the core by now."""
        return _is_taken(NAME, self.core)

    def give_back(self) -> None:
        self._name.close()


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


NICENESS = 10
#: beside many pages, shifts keep 55 to 66 % of their rate by 5, and less than half by 10
SESSION_NICENESS = 5
#: the niceness of work that yields to shifts
IDLE_NICENESS = 19
#: Linux shares processors between sessions first, so that a niceness counts inside a session only.
#: The supervisor, like systemd, starts each process in a session of its own, and PostgreSQL each
#: connection's.
GROUP = Path("/proc/self/autogroup")


def let_pages_go_first() -> None:
    """Lower the priority of this work process, and of its worker's session if that is the worker's
    alone; one that is started from a terminal shares it.
    """
    os.nice(NICENESS)
    if os.getsid(0) == os.getppid():
        lower_session()


def lower_session(niceness: int = SESSION_NICENESS) -> None:
    """The kernel allows ten changes a second on the whole machine; the next shift, or the next look
    of an idle turn, tries again.
    """
    with suppress(OSError):
        if not GROUP.read_text().endswith(f"nice {niceness}\n"):
            GROUP.write_text(str(niceness))


def let_shifts_go_first() -> None:
    """Lower the priority of this work process below that of shifts until it hurries, if its worker
    has a session of its own: of that session only the work process works meanwhile.
    """
    if _is_alone():
        lower_session(IDLE_NICENESS)


def hurry() -> None:
    """Be no longer behind shifts: someone waits for the end of this work process."""
    if _is_alone():
        lower_session(0)


def _is_alone() -> bool:
    return os.getsid(0) == os.getppid()
