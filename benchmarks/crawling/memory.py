"""What memory a worker needs over a long crawl: `python -m benchmarks.crawling.memory [--urls
100000]`

A real worker and scheduler crawl a synthetic web of many small pages with every default on but the
delay, which is 0. The worker and its work process are looked at once a second; the table has a line
for each twentieth of the crawl. A work process ends after ten minutes, and the next begins afresh;
`--one-process` lets one do it all, so that what grows with the number of pages shows. Wants a
PostgreSQL whose tables are made, and a Redis; its crawl stays.
"""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import psutil

from benchmarks.scene.database import set_up_django

if TYPE_CHECKING:
    from crawling.models import Run

LINES = 20
MIB = 2**20
#: of the synthetic web: hosts, and levels below their first pages
HOSTS, DEPTH = 4, 5


@dataclass(frozen=True)
class Look:
    """The work process's and its worker's resident memory, in MiB, and which it was; 0 without
    one."""

    pages: int
    seconds: float
    work_process: int
    work_process_mib: float
    worker_mib: float


def main() -> None:
    from benchmarks.scene.crawls import make_ready
    from tests.stack import SCHEDULER, WORKER, running_stack
    from tests.webs.synthetic import SyntheticWeb, serve_web

    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--urls", type=int, default=100_000)
    reader.add_argument("--one-process", action="store_true")
    asked = reader.parse_args()
    make_ready()
    web = SyntheticWeb(
        1, hosts=HOSTS, width=asked.urls // (HOSTS * DEPTH), depth=DEPTH, slow_percent=0
    )
    settings = {"CRAWL_SLICE_SECONDS": "7200"} if asked.one_process else {}
    with (
        serve_web(web) as served,
        TemporaryDirectory() as place,
        running_stack(Path(place), **settings) as stack,
    ):
        stack.start(SCHEDULER)
        looks = watch(served.seeds, psutil.Process(stack.start(WORKER).pid))
    tell(looks)


def watch(seeds: list[str], worker: psutil.Process) -> list[Look]:
    """Crawl, and look at the worker until the crawl has ended, or Ctrl-C."""
    from crawling.models.jobs import ENDED_STATES
    from crawling.runs.crawls.creation import create_crawl, free_name
    from crawling.runs.start import start_run

    run = start_run(create_crawl({"name": free_name("memory"), "seeds": seeds, "delay_seconds": 0}))
    began, looks = time.monotonic(), list[Look]()
    with suppress(KeyboardInterrupt):
        while run.state not in ENDED_STATES:
            looks.append(look(run, worker, time.monotonic() - began))
            # a curve over many minutes, of a point a second
            time.sleep(1)
            run.refresh_from_db()
    print(f"{run.state}: {run.reason}")
    return looks


def look(run: Run, worker: psutil.Process, seconds: float) -> Look:
    from crawling.frontier import counts_of

    work_processes = worker.children()
    work_process_mib = max((resident(work_process) for work_process in work_processes), default=0.0)
    return Look(
        counts_of([run.pk])[run.pk].fetched,
        seconds,
        work_processes[0].pid if work_processes else 0,
        work_process_mib,
        resident(worker),
    )


def resident(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss / MIB)
    except psutil.NoSuchProcess:  # a work process that ended just now
        return 0.0


def tell(looks: list[Look]) -> None:
    """A line for each part of the crawl, with the most of it."""
    last = looks[-1].pages
    print(f"{'pages':>9}{'seconds':>9}{'process MiB':>12}{'worker MiB':>12}  work process")
    for line in range(LINES):
        part = [
            look
            for look in looks
            if line * last <= look.pages * LINES < (line + 1) * last
            or (line == LINES - 1 and look.pages == last)
        ]
        if part:
            work_processes = sorted({look.work_process for look in part if look.work_process})
            most = [
                max(getattr(look, name) for look in part)
                for name in ("work_process_mib", "worker_mib")
            ]
            print(
                f"{part[-1].pages:9,}{part[-1].seconds:9.0f}{most[0]:12.0f}{most[1]:12.0f}  "
                f"{', '.join(map(str, work_processes))}"
            )
    print(
        f"{max(look.work_process_mib for look in looks):.0f} MiB at most in a work process, "
        f"{max(look.worker_mib for look in looks):.0f} in its worker"
    )


if __name__ == "__main__":
    set_up_django()
    main()
