"""The product while it is idle: `python -m benchmarks.dashboard.idle [--seconds 60]`

Starts the whole product twice in a directory of its own, as `make run` does: once anew and once on
the data that is there. Then it prints what each process takes while nothing happens: memory that is
its own (PSS: what several share counts in parts) and the time of the processor.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.dashboard.viewers import environment_in, running_product

#: what a start leaves to be done: the first round of each duty, the first looks of the workers
SETTLED_SECONDS = 20.0
TITLE_LENGTH = 66


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=60, help="that are measured")
    seconds = reader.parse_args().seconds
    with tempfile.TemporaryDirectory(prefix="crawlsite-bench-") as state:
        environment = environment_in(state)
        for data in ("without data", "on data that is there"):
            began = time.monotonic()
            with running_product(environment) as product:
                print(f"ready {data} after {time.monotonic() - began:.1f} s", flush=True)
                if data != "without data":
                    # ready is said before the first rounds and looks, whose end nothing tells
                    time.sleep(SETTLED_SECONDS)
                    print_use(psutil.Process(product.pid), seconds)


def print_use(product: psutil.Process, seconds: float) -> None:
    """A line for each process, those that take most first."""
    processes = [product, *product.children(recursive=True)]
    before = {process.pid: seconds_of(process) for process in processes}
    # what the processes take while nothing happens for so long is the figure itself
    time.sleep(seconds)
    rows = [
        (
            _own_mib(process),
            (seconds_of(process) - before[process.pid]) / seconds,
            title_of(process),
        )
        for process in processes
        if process.is_running()
    ]
    print(f"{'own MiB':>8} {'% of a core':>12}  process")
    for own, share, title in sorted(rows, reverse=True):
        print(f"{own:8.1f} {100 * share:12.2f}  {title}")
    print(f"{sum(row[0] for row in rows):8.1f} {100 * sum(row[1] for row in rows):12.2f}  all")


def _own_mib(process: psutil.Process) -> float:
    return process.memory_full_info().pss / 1024**2


def seconds_of(process: psutil.Process) -> float:
    """Of the processor, those of children that have ended included."""
    return sum(process.cpu_times()[:4])


def title_of(process: psutil.Process) -> str:
    program, *words = process.cmdline() or [process.name()]
    return " ".join([Path(program).name, *words])[:TITLE_LENGTH].strip()


if __name__ == "__main__":
    main()
