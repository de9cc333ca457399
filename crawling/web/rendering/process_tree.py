"""The processes of a browser: their memory, and their end."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROCESSES = Path("/proc")
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
KIB, NANOSECONDS = 1024, 10**9
#: the time that the kernel gets for the end of processes
KILL_SECONDS, LOOK_SECONDS = 5.0, 0.01
#: of /proc/PID/status, where the kernel shows the shares of pages to root alone
OWN_MEMORY = "RssAnon:", "RssShmem:"


def memory_of(process: int) -> int:
    """The bytes of a process, of shared pages its share (PSS); where the kernel does not tell
    those, of sandboxed processes to users but root, its own pages and all of shared memory. 0 if
    the process is gone or the system does not tell.
    """
    folder = PROCESSES / str(process)
    try:
        lines = (folder / "smaps_rollup").read_text().splitlines()
        return sum(_kib(line) for line in lines if line.startswith("Pss:")) * KIB
    except OSError:
        pass
    try:
        lines = (folder / "status").read_text().splitlines()
    except OSError:
        return 0
    return sum(_kib(line) for line in lines if line.startswith(OWN_MEMORY)) * KIB


def processor_seconds(process: int) -> float:
    """The processor time of all threads of a process so far; 0 if it is gone."""
    found = _fields(process)
    return (int(found[11]) + int(found[12])) / os.sysconf("SC_CLK_TCK") if found else 0.0


def main_thread_seconds(process: int) -> tuple[float, float]:
    """How long the main thread of a process has run so far, and how long it was ready to run but
    had no processor; zeros if the process is gone or the system does not tell.
    """
    try:
        ran, waited, _ = (PROCESSES / str(process) / "schedstat").read_text().split()
    except OSError:
        return 0.0, 0.0
    return int(ran) / NANOSECONDS, int(waited) / NANOSECONDS


def _kib(line: str) -> int:
    return int(line.split()[1])


class ProcessStart(NamedTuple):
    session: int
    #: since the start of the system, in the kernel's ticks
    start: int


def processes() -> dict[int, ProcessStart]:
    """The processes of this machine, without those that have ended."""
    numbers = (int(path.name) for path in PROCESSES.glob("[0-9]*"))
    return {number: process for number in numbers if (process := _process(number))}


def _process(number: int) -> ProcessStart | None:
    found = _fields(number)
    return ProcessStart(int(found[3]), int(found[19])) if found and found[0] != "Z" else None


def _fields(number: int) -> list[str]:
    """The fields of a process, from its state on (proc_pid_stat(5)); none if it is gone."""
    try:
        # the name of a program, which is in parentheses, may contain anything
        return (PROCESSES / str(number) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def exists(number: int) -> bool:
    """Whether a process has not ended; True on systems that do not tell."""
    return _process(number) is not None or not PROCESSES.is_dir()


def is_alive(noted: Mapping[int, int]) -> bool:
    """Whether any of some processes, which are given with their starts, is alive."""
    found = ((_process(number), start) for number, start in noted.items())
    return any(process and process.start == start for process, start in found)


def of_sessions(leaders: Mapping[int, int]) -> set[int]:
    """The processes of some sessions. A session keeps its number while it has processes, but once
    it has none its number may come again.

    leaders: the numbers of the sessions, with the starts of the processes that began them.
    """
    all_ = processes()
    wanted = {
        number
        for number, start in leaders.items()
        if number not in all_ or not start or all_[number].start == start
    }
    return {number for number, process in all_.items() if process.session in wanted}


def kill_sessions(leaders: Mapping[int, int]) -> None:
    """Kill all processes of some sessions. leaders: as in `of_sessions`."""
    until = time.monotonic() + KILL_SECONDS
    while (members := of_sessions(leaders)) and time.monotonic() < until:
        for number in members:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(LOOK_SECONDS)  # nothing tells the end of a process that is no child


def leave_network() -> bool:
    """Give this process and its children a network of their own, without any interface. Return
    whether the kernel allows it. The process must have one thread.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "unshare"):
        return False
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        return bool(libc.unshare(CLONE_NEWNET) == 0)
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        return False
    with suppress(OSError):
        (PROCESSES / "self/setgroups").write_text("deny")
        (PROCESSES / "self/gid_map").write_text(f"{group} {group} 1")
        (PROCESSES / "self/uid_map").write_text(f"{user} {user} 1")
        return True
    return False
