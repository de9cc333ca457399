"""The product while it is idle: `python -m benchmarks.dashboard.idle [--seconds 60]`

Starts the whole product twice in a directory of its own, as `make run` does: once anew and once on
the data that is there. Then it prints what each process takes while nothing happens: memory that is
its own (PSS: what several share counts in parts) and the time of the processor.
"""

from __future__ import annotations

import time
from tempfile import TemporaryDirectory

from benchmarks.report import Table, options
from benchmarks.scene.product import environment_in, running_product, title_of
from benchmarks.timer import MIB, process_tree, seconds_of

#: the time for the rest of a start, such as the first round of each duty and the first looks of the
#: workers
SETTLED_SECONDS = 20.0


def main() -> None:
    seconds = options(__doc__, seconds=60.0).seconds
    with TemporaryDirectory(prefix="crawlsite-bench-") as state:
        for data in ("without data", "on data that is there"):
            began = time.monotonic()
            with running_product(environment_in(state)) as product:
                print(f"ready {data} after {time.monotonic() - began:.1f} s", flush=True)
                if data != "without data":
                    # the product reports that it is ready before the first rounds and looks, and
                    # nothing tells their end
                    time.sleep(SETTLED_SECONDS)
                    print_use(product.pid, seconds)


def print_use(product: int, seconds: float) -> None:
    """Print a line for each process, beginning with those that use most."""
    processes = process_tree(product)
    before = {process.pid: seconds_of(process) for process in processes}
    # the use of the processes while nothing happens for this long is the figure itself
    time.sleep(seconds)
    rows = [
        (
            process.memory_full_info().pss / MIB,
            100 * (seconds_of(process) - before[process.pid]) / seconds,
            title_of(process),
        )
        for process in processes
        if process.is_running()
    ]
    table = Table("own MiB", "% of a core", "process")
    for row in sorted(rows, reverse=True):
        table.row(*row)
    table.row(sum(row[0] for row in rows), sum(row[1] for row in rows), "all")


if __name__ == "__main__":
    main()
