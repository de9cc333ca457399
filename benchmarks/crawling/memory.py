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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

from benchmarks.scene.crawls import begin, fetched, make_ready
from benchmarks.scene.product import SCHEDULER, WORKER, program
from benchmarks.timer import MIB, Table, resident_of
from crawling.models import Run
from crawling.models.jobs import ENDED_STATES
from tests.webs.synthetic import SyntheticWeb, serve_web

LINES = 20
#: of the synthetic web: hosts, and levels below their first pages
HOSTS, DEPTH = 4, 5


@dataclass(frozen=True)
class Look:
    pages: int
    seconds: float
    #: the work process's number; 0 without one
    number: int
    #: MiB of the work process and of its worker
    work_process: float
    worker: float


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--urls", type=int, default=100_000)
    reader.add_argument("--one-process", action="store_true")
    asked = reader.parse_args()
    make_ready()
    width = asked.urls // (HOSTS * DEPTH)
    web = SyntheticWeb(1, hosts=HOSTS, width=width, depth=DEPTH, slow_percent=0)
    others = {"CRAWL_SLICE_SECONDS": "7200"} if asked.one_process else {}
    with (
        serve_web(web) as site,
        program(*SCHEDULER, **others),
        program(*WORKER, **others) as worker,
    ):
        looks = watch(begin("memory", site.seeds), worker)
    tell(looks)


def watch(run: Run, worker: psutil.Process) -> list[Look]:
    """Look at the worker until the crawl has ended, or Ctrl-C."""
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
    work_processes = worker.children()
    most = 0.0
    with suppress(psutil.NoSuchProcess):  # one that ended just now
        most = max((resident_of(each) / MIB for each in work_processes), default=0.0)
    number = work_processes[0].pid if work_processes else 0
    return Look(fetched([run.pk]), seconds, number, most, resident_of(worker) / MIB)


def tell(looks: Sequence[Look]) -> None:
    """A line for each part of the crawl, with the most of it."""
    last, table = looks[-1].pages, Table("pages", "seconds", "process MiB", "worker MiB", "process")
    for line in range(LINES):
        part = [
            each for each in looks if min(LINES - 1, each.pages * LINES // max(1, last)) == line
        ]
        if part:
            numbers = sorted({each.number for each in part if each.number})
            table.row(
                part[-1].pages,
                round(part[-1].seconds),
                max(each.work_process for each in part),
                max(each.worker for each in part),
                ", ".join(map(str, numbers)),
            )
    print(
        f"{max(each.work_process for each in looks):.0f} MiB at most in a work process, "
        f"{max(each.worker for each in looks):.0f} in its worker"
    )


if __name__ == "__main__":
    main()
