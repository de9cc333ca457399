"""How much memory a work process may have, set with the kernel: a document that needs more fails
its own URL and no other.
"""

from __future__ import annotations

import ctypes
import os
import resource
import threading
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

MIB = 1024 * 1024
#: Beside the memory that a process inherits from its worker: its own code and connections, what it
#: remembers of links and texts, and what is made of documents. With 150 MiB a crawl of 21,600
#: pages, some of which have 4 MB and more, reached the limit
BESIDE_BYTES = 200 * MIB
#: the system's 8 MiB for each thread would be most of what a limit allows
STACK_BYTES = 2 * MIB
#: glibc's mallopt: a piece of so many bytes is given back to the system as soon as it is free.
#: Setting it ends glibc's own adjustment of the next, at 128 KiB of which each page's memory would
#: be given back and taken again: 110 page faults and 0.3 ms a page of 96 KB. A page of 57 KB takes
#: a piece of more than 256 KiB
M_MMAP_THRESHOLD, LARGE_BYTES = -3, 512 * 1024
#: the free memory that an arena keeps
M_TRIM_THRESHOLD, KEPT_BYTES = -1, 8 * MIB
#: how many arenas threads may spread over
M_ARENA_MAX, ARENAS = -8, 2
#: the kernel ends a work process sooner than what it works for, as PostgreSQL
OOM_SCORE = "500"
#: documents are read one at a time in a process, so that only one tree is in memory. It costs no
#: time, since the interpreter runs one thread at a time; PDF is read by programs of its own
READER_TURN = threading.Lock()
#: how long a thread that got no memory waits for the document that may have taken it
LONGEST_WAIT_SECONDS = 4.0
PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_libc = ctypes.CDLL(None)


class MemoryLimit:
    """The limit of this process, from its present size.

    Systems other than Linux do not report the size, and get none.
    """

    def __init__(self) -> None:
        self._begins_with = _data_bytes()
        self._set = 0
        threading.stack_size(STACK_BYTES)
        keep_free_memory()

    def allow(self, held_bytes: int) -> None:
        """Set the limit to the granted memory for documents; an allocation beyond that raises
        MemoryError.
        """
        wanted = (
            self._begins_with + BESIDE_BYTES + threading.active_count() * STACK_BYTES + held_bytes
        )
        if self._begins_with and wanted != self._set:
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            resource.setrlimit(
                resource.RLIMIT_DATA,
                (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard),
            )
            self._set = wanted

    def end(self) -> None:
        if self._set:
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        threading.stack_size(0)


def keep_free_memory() -> None:
    """Let this process keep the memory of a page for the next one, where its system has glibc."""
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        _libc.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        _libc.mallopt(M_ARENA_MAX, ARENAS)


def prefer_oom_kill() -> None:
    """Let the kernel end this process before others when a machine has no memory left, if it can
    be told.
    """
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)


def resident_bytes() -> int:
    """The bytes of this process in memory; 0 if unknown on this system."""
    try:
        return int(os.pread(_statm(os.getpid()), 200, 0).split()[1]) * PAGE_BYTES
    except OSError:
        return 0


@lru_cache(maxsize=1)
def _statm(process: int) -> int:
    """The open /proc file with the memory use: opening it for each page would take four times as
    long. One that was open at a fork goes on speaking of the parent.
    """
    return os.open(f"/proc/{process}/statm", os.O_RDONLY | os.O_CLOEXEC)


def give_back_free_memory() -> None:
    """Return the memory that a large document has left free to the system."""
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(0)


class ReleasedMemory:
    """The memory that large documents have left free; for the thread that has READER_TURN."""

    def __init__(self) -> None:
        self._least = 0

    def look(self, most: int) -> None:
        """Give it back if this process has grown by more bytes than `most` since the last time."""
        if resident_bytes() - self._least > most:
            give_back_free_memory()
            self._least = resident_bytes()


RELEASED_MEMORY = ReleasedMemory()


def await_free_memory() -> None:
    """Wait until the document that is being read is done, and its memory is free."""
    if READER_TURN.acquire(timeout=LONGEST_WAIT_SECONDS):
        READER_TURN.release()
    give_back_free_memory()


def _data_bytes() -> int:
    """The bytes of this process that RLIMIT_DATA counts; 0 if unknown on this system."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")), 0)
