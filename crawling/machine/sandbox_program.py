"""The program's side of a sandbox: its limits, its tasks, and the ways in which it ends."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from crawling.machine.orphans import stop_with_parent

#: exit statuses of a program that ends by itself: it refuses its input, for a reason that it writes
#: as a sentence to its error output; it lacks memory; its parent is not the process that started it
REFUSED, NO_MEMORY, ORPHANED = 3, 4, 5
#: memory that is kept for the error message when no other is left
RESERVE_BYTES = 512 * 1024


def run_sandboxed(main: Callable[..., None], *refusals: type[Exception]) -> None:
    """Run the main part of a program, with its arguments, within the limits of its sandbox.

    refusals: errors by which the program refuses its input, with their text.
    """
    limits = json.loads(sys.argv[1])
    stop_with_parent()
    if os.getppid() != limits["parent"]:
        sys.exit(ORPHANED)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    set_limits(limits)
    reserve = [bytes(RESERVE_BYTES)]
    try:
        main(*sys.argv[2:])
    except refusals as trouble:
        sys.stderr.write(str(trouble))
        sys.exit(REFUSED)
    except Exception as error:  # libraries without memory raise errors of any class
        reserve.clear()
        if _is_out_of_memory(error):
            sys.exit(NO_MEMORY)
        raise


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Whether the first cause of the error is a failed allocation. After one, libraries raise
    errors of their own.
    """
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def set_limits(limits: dict[str, Any]) -> None:
    """Set the kernel's limits, by which it ends this process if the process uses or writes too
    much.
    """
    if limits["cores"]:
        with suppress(OSError):  # a core may have been taken away meanwhile
            os.sched_setaffinity(0, limits["cores"])
    _set_limit(resource.RLIMIT_DATA, limits["memory_bytes"])
    _set_limit(resource.RLIMIT_FSIZE, limits["output_bytes"])
    _set_limit(resource.RLIMIT_CORE, 0)
    if limits["cpu_seconds"] is not None:
        # the lower limit has a signal of its own
        _set_limit(resource.RLIMIT_CPU, limits["cpu_seconds"], limits["cpu_seconds"] + 1)


def _set_limit(kind: int, most: int, hard: int | None = None) -> None:
    with suppress(OSError, ValueError):  # macOS refuses, or the limit is already lower
        resource.setrlimit(kind, (most, most if hard is None else hard))


def work_on_tasks(work: Callable[[dict[str, Any], bytes], bytes]) -> None:
    """Work on one task after the other, each within its limit of processor time."""
    while line := sys.stdin.buffer.readline():
        task = json.loads(line)
        document = sys.stdin.buffer.read(task["size"])
        if task["cpu_seconds"] is not None:
            used, hard = time.process_time(), resource.getrlimit(resource.RLIMIT_CPU)[1]
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used) + task["cpu_seconds"], hard))
        result = work(task, document)
        sys.stdout.buffer.write(b"%d\n" % len(result))
        sys.stdout.buffer.write(result)
        sys.stdout.buffer.flush()
