"""The memory limit of a work process, set with the kernel. A document that needs more memory fails
only its own URL.
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
#: The memory besides that inherited from the worker: for the process's own code and connections,
#: remembered links and texts, and data made from documents. With 150 MiB a crawl of 21,600 pages,
#: some of which have 4 MB and more, reached the limit
BESIDE_BYTES = 200 * MIB
#: the stack of a thread; the system's default of 8 MiB for each would be most of the limit
STACK_BYTES = 2 * MIB
#: glibc's mallopt: pieces of at least this size are given back to the system as soon as they are
#: free. This setting also ends glibc's own adjustment of the next value. The default of that value,
#: 128 KiB, would give back the memory of each page and take it again: 110 page faults and 0.3 ms
#: for a page of 96 KB. A page of 57 KB takes a piece of more than 256 KiB
M_MMAP_THRESHOLD, LARGE_BYTES = -3, 512 * 1024
#: the free memory that an arena keeps
M_TRIM_THRESHOLD, KEPT_BYTES = -1, 8 * MIB
#: the most arenas that threads use
M_ARENA_MAX, ARENAS = -8, 2
#: the kernel ends a work process before the processes that it needs, such as PostgreSQL
OOM_SCORE = "500"
#: documents are read one at a time in a process, so that only one tree is in memory. This takes no
#: more time, since the interpreter runs one thread at a time, and separate programs read PDF
READER_TURN = threading.Lock()
#: the longest time for which a thread that got no memory waits until the document that is being
#: read is done
LONGEST_WAIT_SECONDS = 4.0
PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_libc = ctypes.CDLL(None)


class MemoryLimit:
    """The memory limit of this process, counted from its current size.

    Systems other than Linux do not report the size, and have no limit.
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
    """Let this process keep the memory of a page for the next page, on systems with glibc."""
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        _libc.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        _libc.mallopt(M_ARENA_MAX, ARENAS)


def prefer_oom_kill() -> None:
    """Let the kernel end this process before others when a machine has no memory left, on systems
    where this is possible.
    """
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)


def resident_bytes() -> int:
    """The size of this process in memory, in bytes; 0 if it is unknown on this system."""
    try:
        return int(os.pread(_open_statm(os.getpid()), 200, 0).split()[1]) * PAGE_BYTES
    except OSError:
        return 0


@lru_cache(maxsize=1)
def _open_statm(process: int) -> int:
    """The open /proc file with the memory use. It stays open, since opening it for each page would
    take four times as long. process: a key for the process, since a file that was open at a fork
    describes the parent.
    """
    return os.open(f"/proc/{process}/statm", os.O_RDONLY | os.O_CLOEXEC)


def give_back_free_memory() -> None:
    """Return the free memory that a large document has used to the system."""
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(0)


class ReleasedMemory:
    """Free memory that large documents have used. For the thread that has READER_TURN."""

    def __init__(self) -> None:
        self._least = 0

    def look(self, most: int) -> None:
        """Return free memory to the system if this process has grown by more than `most` bytes
        since the last call.
        """
        if resident_bytes() - self._least > most:
            give_back_free_memory()
            self._least = resident_bytes()


RELEASED_MEMORY = ReleasedMemory()


def await_free_memory() -> None:
    """Wait until the document that is being read is done and its memory is free."""
    if READER_TURN.acquire(timeout=LONGEST_WAIT_SECONDS):
        READER_TURN.release()
    give_back_free_memory()


def _data_bytes() -> int:
    """The number of bytes of this process that RLIMIT_DATA counts; 0 if it is unknown on this
    system.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")), 0)
