"""Measurements of time by the clock, processor time and memory."""

from __future__ import annotations

import os
import subprocess
import time
import timeit
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import IO, Any, TypeVar

import psutil
from django.conf import settings
from django.db import connection

MIB = 2**20
LOOK_SECONDS = 0.2
#: the additions whose time shows the speed of the machine, so that figures of two machines can be
#: compared
ADDITIONS = 10_000_000

_within: list[Taken] = []
Step = Callable[[], object]
Way = TypeVar("Way")


@dataclass
class Taken:
    """The time of a block. Complete at the end of the block."""

    #: seconds
    clock: float = 0.0
    #: processor seconds of this process, including those of ended children
    here: float = 0.0
    #: processor seconds of children alone
    children: float = 0.0
    #: processor seconds of the PostgreSQL process for this one, if it is on this machine
    there: float = 0.0
    #: bytes beyond the memory that this process had; 0 for a block within another
    memory: float = 0.0
    statements: float = 0

    @property
    def worked(self) -> float:
        return self.here + self.there


@contextmanager
def timed() -> Iterator[Taken]:
    taken, counted, server = Taken(), [0], _server_process()
    with _peak(taken), _counting(counted):
        there, children = _processor_seconds(server), _children_seconds()
        here, clock = time.process_time(), time.perf_counter()
        yield taken
        taken.clock, taken.here = time.perf_counter() - clock, time.process_time() - here
    taken.children = _children_seconds() - children
    taken.here += taken.children
    taken.there = max(0.0, _processor_seconds(server) - there)
    taken.statements = counted[0]


def chosen_figures(choose: Callable[[list[float]], float], rounds: Iterable[Taken]) -> Taken:
    """The least, the median or the greatest of each figure separately."""
    return Taken(*map(choose, map(list, zip(*map(astuple, rounds), strict=True))))


def rounds_of(steps: Iterable[Step]) -> Iterator[Taken]:
    """The times of each step. A step that the iterable prepares is prepared before its round."""
    for step in steps:
        with timed() as taken:
            step()
        yield taken


def least_figures(step: Step, times: int = 3) -> Taken:
    """The least figures of some rounds, since a busy machine only adds time."""
    return chosen_figures(min, rounds_of([step] * times))


def in_turn(ways: Iterable[Way], rounds: int) -> Iterator[tuple[int, Way]]:
    """Each way in each round, in a different order each time, so that other programs affect all
    ways alike.
    """
    every = list(ways)
    for number in range(rounds):
        at = number % len(every)
        yield from ((number, way) for way in every[at:] + every[:at])


def run_command(words: Sequence[str], out: IO[bytes], env: Mapping[str, str]) -> tuple[int, Taken]:
    """Run a command to its end. Return its exit status, and the time and memory of it and all
    processes that it started, with the whole of PostgreSQL. Its output goes to a file.

    Memory is that of all its processes together at one of the looks, in which shared memory counts
    more than once. (The kernel's figure for an ended process includes its parent's memory before
    `exec`.)
    """
    server, began = server_seconds(), time.monotonic()
    program = subprocess.Popen(words, stdout=out, stderr=out, env=env)  # noqa: S603  # ours
    most = 0.0
    while True:
        pid, status, usage = os.wait4(program.pid, os.WNOHANG)
        if pid:
            break
        most = max(most, memory_of_tree(program.pid))
        # the memory of all its processes together is known only at looks: the kernel keeps the
        # maximum of each, and no event tells the maximum of their sum
        time.sleep(LOOK_SECONDS)
    program.returncode = os.waitstatus_to_exitcode(status)
    clock, used = time.monotonic() - began, usage.ru_utime + usage.ru_stime
    there = server_seconds() - server
    return program.returncode, Taken(clock, used, there=there, memory=most)


def await_change(
    condition: Callable[[], object], failure: str, *, seconds: float, every: float = 0.05
) -> float:
    """Check a condition at intervals until it is true. Return the time that it took. Exits with
    `failure` after `seconds`.
    """
    began = time.monotonic()
    while not condition():
        if time.monotonic() > began + seconds:
            raise SystemExit(f"{failure} ({seconds:.0f} s)")
        # rows, locks, ports and registries that other processes write: none of them sends a notice,
        # and a shorter interval would take time from the measured process
        time.sleep(every)
    return time.monotonic() - began


def process_tree(pid: int) -> list[psutil.Process]:
    """A process, and all living processes that it started."""
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    return []


def total_by(
    title: Callable[[psutil.Process], str],
    processes: Iterable[psutil.Process],
    of: Callable[[psutil.Process], float],
) -> Counter[str]:
    """A figure of processes, added up by titles."""
    found: Counter[str] = Counter()
    for process in processes:
        # the process ended just now, and its parent counts its time
        with suppress(psutil.NoSuchProcess):
            found[title(process)] += of(process)  # type: ignore[assignment]
    return found


def seconds_of(process: psutil.Process) -> float:
    """The processor seconds of a process, including those of its ended children."""
    return float(sum(process.cpu_times()[:4]))


def resident_of(process: psutil.Process) -> float:
    """Bytes of memory of a process."""
    return float(process.memory_info().rss)


def memory_of_tree(pid: int) -> float:
    """Bytes of memory of a process and of the processes that it started."""
    return float(total_by(lambda _: "", process_tree(pid), resident_of).total())


def server_seconds() -> float:
    """The processor seconds of PostgreSQL's living processes. Those of ended connections are
    counted by their parent.
    """
    connection.ensure_connection()
    server = psutil.Process(connection.connection.info.backend_pid).parent()
    assert server
    return float(total_by(lambda _: "", [server, *server.children()], seconds_of).total())


def machine_speed() -> str:
    """The processor time of many additions, the least of three."""
    times = timeit.repeat(
        "total += 1", "total = 0", number=ADDITIONS, timer=time.process_time, repeat=3
    )
    return f"{ADDITIONS:,} additions in Python: {1000 * min(times):.0f} ms on this machine"


def _children_seconds() -> float:
    """The processor seconds of ended children."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _server_process() -> Path | None:
    """The file with the times of the PostgreSQL process for this one, if it is connected."""
    if not settings.configured or connection.connection is None:
        return None
    return Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")


def _processor_seconds(server: Path | None) -> float:
    """The processor seconds; 0 if the server is on another machine, or the process has ended."""
    with suppress(OSError):
        return int(server.read_text().split()[0]) / 1e9 if server else 0.0
    return 0.0


def _memory_figure(name: str) -> int:
    """The bytes of this process; 0 if the kernel does not report them."""
    with suppress(OSError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
    return 0


@contextmanager
def _peak(taken: Taken) -> Iterator[None]:
    """Measure the peak of memory, but only for the outermost block, since its peak includes those
    of blocks within it.
    """
    is_outermost = not _within
    _within.append(taken)
    had = _memory_figure("VmRSS") if is_outermost else 0
    if is_outermost:
        with suppress(OSError):  # only Linux can reset the peak
            Path("/proc/self/clear_refs").write_text("5")
    try:
        yield
    finally:
        _within.pop()
    taken.memory = max(0, _memory_figure("VmHWM") - had) if is_outermost else 0


@contextmanager
def _counting(counted: list[int]) -> Iterator[None]:
    """Count the statements of this process's connection."""

    def count(execute: Callable[..., Any], *given: Any) -> Any:
        counted[0] += 1
        return execute(*given)

    if not settings.configured:
        yield
        return
    with connection.execute_wrapper(count):
        yield
