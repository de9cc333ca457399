"""How quickly sites are crawled with every default on, and what that costs:

    python -m benchmarks.crawling.speed [--workers 1 --max-pages 0] [URL ...]
    python -m benchmarks.crawling.speed [--width 300 --copies 10 --skip-copies]
    python -m benchmarks.crawling.speed --again
    python -m benchmarks.crawling.speed --hosts 1000 [--pages 10 --delay 1 --slots 16 64 256]

Sites on loopback, with a delay of 0. Each of the processes is a worker of its own. Without URLs
this process serves a synthetic web, which takes a part of the processor: `--width` pages a level
and host, of which `--copies` per cent have the same text. With `--again` it is crawled once, and
then without and with the page cache. With `--hosts` that many hosts answer after 20 to 300 ms, each
a loopback address with `--pages` pages, and are crawled with each number of fetch slots.

Needs a PostgreSQL with migrated tables; its crawls are kept.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

from allocation.models import Pool
from benchmarks.crawling import spending
from benchmarks.crawling.spending import Spending, shift_spending
from benchmarks.report import Table, options
from benchmarks.scene.crawls import (
    begin_crawl,
    granted_shifts,
    make_ready,
    nothing_is_held,
    to_the_end,
)
from benchmarks.scene.sites import NOT_HERE, Asked, reply, served
from benchmarks.timer import MIB, server_seconds, timed
from crawling.fetching.worker.jobs import prepare_to_fork
from crawling.installation.pools import default_classes
from crawling.models import Page, Run
from crawling.models.jobs import ENDED_STATES
from tests.webs.synthetic import SyntheticWeb, serve_web

#: the intervals at which this process looks for shifts, while one is needed and afterwards: a
#: scheduler looks no more often, and each look takes processor time from the crawl
START_SECONDS, SCHEDULER_SECONDS = 0.02, 0.5
#: a run without a shift for this long waits for its host or for units, so that there is nothing to
#: measure
PATIENCE_SECONDS = 30.0
#: the greatest age in seconds that pages of the last crawl may have
AGAIN = {"first": 0, "second, without the cache": 0, "second, with the cache": 600}
AGAIN_WEB = SyntheticWeb(3, hosts=4, width=40, error_percent=0, redirect_percent=0, slow_percent=10)
#: the latencies of slow hosts
LATENCIES = (0.02, 0.05, 0.1, 0.2, 0.3)
#: the text of a slow page besides its links: 14 KB, as in PostgreSQL's manual
TEXT = "<p>" + "Some words that a page of usual length may have in a paragraph of it. " * 20
PARAGRAPHS, MEBIBYTES = 10, 4096


def main() -> None:
    asked = options(
        __doc__,
        "seeds",
        **{"workers": 1, "max_pages": 0, "width": 300, "copies": 10, "skip_copies": False},
        **{"again": False, "hosts": 0, "pages": 10, "delay": 1.0, "slots": [16, 64, 256]},
    )
    if asked.hosts:
        return measure_slow_hosts(asked)
    make_ready()
    if not nothing_is_held():
        raise SystemExit(
            "A crawl that was cut off holds units here, and this one would go without them: "
            "begin with an empty state directory."
        )
    if asked.again:
        return measure_again()
    fields = {"max_pages": asked.max_pages or None, "skip_copies": asked.skip_copies}
    if asked.seeds:
        return measure(asked.seeds, asked.workers, **fields)
    sizes = {"hosts": asked.workers, "width": asked.width, "copy_percent": asked.copies}
    with serve_web(SyntheticWeb(1, error_percent=0, slow_percent=0, **sizes)) as web:
        measure(web.seeds, asked.workers, **fields)


def measure(
    seeds: Sequence[str], workers: int, *, with_stages: bool = False, **fields: object
) -> None:
    """Crawl, and print pages a second, queries a page, memory, and processor time a page by its
    purpose. with_stages: also by the stages of a page.
    """
    run = begin_crawl("speed", seeds, **{"processes": workers, **fields})
    began, server = time.monotonic(), server_seconds()
    total = spending_of(run, workers, with_stages=with_stages)
    assert run.started_at
    assert run.finished_at
    pages = Page.objects.filter(run=run).count()
    seconds = (run.finished_at - run.started_at).total_seconds()
    if not pages:
        raise SystemExit(f"No page was had: {run.reason}")
    spent = {**total.seconds, "PostgreSQL": server_seconds() - server}
    print(
        f"{run.reason} {pages:,} pages in {seconds:.1f} s (with starting "
        f"{time.monotonic() - began:.1f} s), {workers} workers"
    )
    table = Table("figure", "of")
    table.row(pages / seconds, "pages a second")
    table.row(total.queries / pages, "queries a page, of the shifts' own threads")
    table.row(total.waits / pages, "waits a page, of all threads")
    table.row(total.most_bytes / MIB, "MiB at most in a worker")
    table.row(1000 * sum(spent.values()) / pages, "ms a page in all")
    for what, parts in (("threads", spent), ("stages", total.stages)):
        if parts:
            Table("ms a page", what).rows(parts, scale=1000 / pages)


def spending_of(run: Run, workers: int, *, with_stages: bool = False) -> Spending:
    """Let several processes do the run's shifts. Return what they spent."""
    total, shifts, worked_at = Spending(), set[Future[Spending]](), time.monotonic()
    prepare = partial(set_up_worker, with_stages=with_stages)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=prepare) as pool:
        while run.state not in ENDED_STATES:
            shifts |= {pool.submit(shift_spending, *shift) for shift in granted_shifts()}
            for shift in [shift for shift in shifts if shift.done()]:
                total.add(shift.result())
                shifts.remove(shift)
            if shifts:
                worked_at = time.monotonic()
                seconds = SCHEDULER_SECONDS if len(shifts) == workers else START_SECONDS
                wait(shifts, seconds, FIRST_COMPLETED)
            elif time.monotonic() - worked_at > PATIENCE_SECONDS:
                raise SystemExit(
                    f"No shift for {PATIENCE_SECONDS:.0f} s: {run.state}. {run.reason}"
                )
            else:
                # this process is the scheduler: it creates the rows of grants itself when a look
                # finds a due host and no shift is running
                time.sleep(START_SECONDS)
            run.refresh_from_db()
        for shift in shifts:
            total.add(shift.result())
    return total


def set_up_worker(*, with_stages: bool) -> None:
    """Prepare this process as a worker is prepared when it forks a shift."""
    if with_stages:
        spending.install(spending.STAGES)
    prepare_to_fork()


def measure_again() -> None:
    table = Table("requests", "reused", "seconds", "crawl")
    with serve_web(AGAIN_WEB) as site:
        for name, seconds in AGAIN.items():
            asked = site.count_requests()
            with timed() as taken:
                run = to_the_end(
                    begin_crawl(name, site.seeds, delay_seconds=0.02, reuse_seconds=seconds)
                )
            reused = run.pages.exclude(reused_from=None).count()
            table.row(site.count_requests() - asked, reused, taken.clock, name)


def measure_slow_hosts(asked: argparse.Namespace) -> None:
    """Measure in a pool that has enough units of the varied class."""
    if Pool.objects.exists():
        raise SystemExit("There is a pool already: begin with an empty state directory.")
    enough = {"fetch_slots": max(asked.slots) * asked.workers, "memory": MEBIBYTES}
    make_ready(
        [
            replace(one, capacity=max(one.capacity, enough.get(one.key, 0)))
            for one in default_classes(2)
        ]
    )
    # robots.txt takes a turn, too, and the slowest hosts end last
    allowed = asked.hosts / (asked.delay + max(LATENCIES))
    print(f"{asked.hosts:,} hosts; delay and latency allow {allowed:,.0f} pages a second")
    addresses = [
        f"127.{1 + n // 62_500}.{n // 250 % 250}.{1 + n % 250}" for n in range(asked.hosts)
    ]
    with served(partial(answer_slowly, asked.pages), addresses) as port:
        seeds = [f"http://{address}:{port}/0" for address in addresses]
        for slots in asked.slots:
            print(f"--- {slots} fetch slots", flush=True)
            claim = {"fetch_slots": slots, "dns_slots": 1, "memory": 2 * slots}
            measure(seeds, asked.workers, delay_seconds=asked.delay, claim=claim)


async def answer_slowly(pages: int, asked: Asked) -> bytes:
    """A page with links to the next two."""
    place = sum(map(int, asked.address.split(".")[2:]))
    await asyncio.sleep(LATENCIES[place % len(LATENCIES)])
    if not asked.target[1:].isdigit():
        return NOT_HERE
    number = int(asked.target[1:])
    links = "".join(f"<a href=/{n}>{n}</a>" for n in (number + 1, number + 2) if n < pages)
    return reply(f"<title>Page {number}</title>{number} {links}{TEXT * PARAGRAPHS}")


if __name__ == "__main__":
    main()
