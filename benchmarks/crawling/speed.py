"""How quickly sites are crawled with every default on, and what that costs: `python -m
benchmarks.crawling.speed [options] URL…`

Sites on loopback, with a delay of 0. Each of the processes is a worker of its own. Without URLs a
synthetic web is served by this process, which then takes a part of the processor. Wants a
PostgreSQL whose tables are made; its crawls stay.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from multiprocessing import get_context

from benchmarks.crawling import stage_costs
from benchmarks.crawling.shift_costs import Spending, shift_spending
from benchmarks.scene.crawls import begin, granted_shifts, make_ready, nothing_is_held
from benchmarks.timer import MIB, server_seconds
from crawling.models import Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.work.worker.jobs import prepare_to_fork
from tests.webs.synthetic import SyntheticWeb, serve_web

#: how often shifts are looked for while one of them is wanted, and afterwards: a scheduler looks as
#: seldom, and each look costs the crawl some of the processor
START_SECONDS, SCHEDULER_SECONDS = 0.02, 0.5
#: a run that has no shift for this long waits for its host or for units: there is nothing to
#: measure
PATIENCE_SECONDS = 30.0


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("seeds", nargs="*", metavar="URL")
    reader.add_argument("--workers", type=int, default=1)
    reader.add_argument("--max-pages", type=int)
    reader.add_argument(
        "--width", type=int, default=300, help="of the synthetic web: pages a level and host"
    )
    copies = "of the synthetic web: pages of one text, in per cent"
    reader.add_argument("--copies", type=int, default=10, help=copies)
    reader.add_argument("--skip-copies", action="store_true", help="leave copies unread")
    asked = reader.parse_args()
    fields = {"max_pages": asked.max_pages, "skip_copies": asked.skip_copies}
    make_ready()
    if not nothing_is_held():
        raise SystemExit(
            "A crawl that was cut off holds units here, and this one would go without them: "
            "begin with an empty state directory."
        )
    if asked.seeds:
        measure(asked.seeds, asked.workers, **fields)
        return
    sizes = {"hosts": asked.workers, "width": asked.width, "copy_percent": asked.copies}
    with serve_web(SyntheticWeb(1, error_percent=0, slow_percent=0, **sizes)) as web:
        measure(web.seeds, asked.workers, **fields)


def measure(
    seeds: Sequence[str], workers: int, *, with_stages: bool = False, **fields: object
) -> None:
    """Crawl, and print pages a second, queries a page, memory, and the processor's time a page by
    what it was spent on; with_stages: also by the stages of a page.
    """
    run = begin("speed", seeds, processes=workers, **fields)
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
    print(f"{pages / seconds:10.0f} pages a second")
    print(f"{total.queries / pages:10.2f} queries a page, of the shifts' own threads")
    print(f"{total.waits / pages:10.1f} waits a page, of all threads")
    print(f"{total.most_bytes / MIB:10.0f} MiB at most in a worker")
    print_spent(spent, pages, 2)
    print(f"{1000 * sum(spent.values()) / pages:10.2f} ms a page in all")
    print_spent(total.stages, pages, 3)


def print_spent(spent: Mapping[str, float], pages: int, digits: int = 3) -> None:
    """Milliseconds a page, the most first."""
    for name, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        print(f"{1000 * seconds / pages:10.{digits}f} ms a page: {name}")


def spending_of(run: Run, workers: int, *, with_stages: bool = False) -> Spending:
    """Do the run's shifts by so many processes, and say what they spent."""
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
                # This process is the scheduler: it makes the rows of grants itself when a look
                # finds something due by the clock, and there is no shift to be waited for.
                time.sleep(START_SECONDS)
            run.refresh_from_db()
        for shift in shifts:
            total.add(shift.result())
    return total


def set_up_worker(*, with_stages: bool) -> None:
    """As a worker is when it forks a shift."""
    if with_stages:
        stage_costs.install(stage_costs.STAGES)
    prepare_to_fork()


if __name__ == "__main__":
    main()
