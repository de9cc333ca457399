"""How quickly sites are crawled with every default on, and what that costs: `python -m
benchmarks.crawling.speed [options] URL…`

Sites on loopback, with a delay of 0. Each of the processes is a worker of its own. Without URLs it
serves a synthetic web itself, which then takes a part of the processor. Wants a PostgreSQL whose
tables are made; its crawls stay.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from multiprocessing import get_context

from benchmarks.scene.database import set_up_django

#: how often shifts are looked for while one of them is wanted, and afterwards: a scheduler looks as
#: seldom, and each look costs the crawl some of the processor
START_SECONDS, SCHEDULER_SECONDS = 0.02, 0.5
#: a run that has no shift for so long waits for its host or for units: there is nothing to measure
PATIENCE_SECONDS = 30.0


def set_up_worker(*, with_stages: bool) -> None:
    """As a worker is when it forks a shift."""
    set_up_django()
    from benchmarks.crawling import shift_costs, stage_costs  # noqa: F401
    from crawling.work.worker.jobs import prepare_to_fork

    if with_stages:
        stage_costs.install()
    prepare_to_fork()


def main() -> None:
    from benchmarks.scene.crawls import make_ready, nothing_is_held
    from tests.webs.synthetic import SyntheticWeb, serve_web

    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("seeds", nargs="*", metavar="URL")
    reader.add_argument("--workers", type=int, default=1)
    reader.add_argument("--max-pages", type=int)
    reader.add_argument(
        "--width", type=int, default=300, help="of the synthetic web: pages a level and host"
    )
    reader.add_argument(
        "--copies",
        type=int,
        default=10,
        help="of the synthetic web: pages of one text, in per cent",
    )
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
        measure(asked.seeds, asked.workers, fields)
        return
    with serve_web(
        SyntheticWeb(
            1,
            hosts=asked.workers,
            width=asked.width,
            error_percent=0,
            slow_percent=0,
            copy_percent=asked.copies,
        )
    ) as served:
        measure(served.seeds, asked.workers, fields)


def measure(
    seeds: list[str],
    workers: int,
    fields: dict[str, int | bool | None],
    *,
    with_stages: bool = False,
) -> None:
    """Crawl, and print pages a second, queries a page, memory, and the processor's time a page by
    what it was spent on; with_stages: also by the stages of a page.
    """
    from benchmarks.crawling.shift_costs import Spending, server_seconds, shift_spending
    from benchmarks.scene.crawls import granted_shifts
    from crawling.crawls.creation import create_crawl, free_name
    from crawling.models import Page
    from crawling.models.jobs import ENDED_STATES
    from crawling.runs.crawls.creation import create_crawl, free_name
    from crawling.runs.start import start_run

    run = start_run(
        create_crawl(
            {
                "name": free_name("speed"),
                "seeds": seeds,
                "delay_seconds": 0,
                "processes": workers,
                **fields,
            }
        )
    )
    total, began, server = Spending(), time.monotonic(), server_seconds()
    with ProcessPoolExecutor(
        workers,
        mp_context=get_context("spawn"),
        initializer=partial(set_up_worker, with_stages=with_stages),
    ) as pool:
        shifts: set[Future[Spending]] = set()
        worked_at = time.monotonic()
        while run.state not in ENDED_STATES:
            shifts |= {pool.submit(shift_spending, *shift) for shift in granted_shifts()}
            ended = {shift for shift in shifts if shift.done()}
            shifts -= ended
            for shift in ended:
                total.add(shift.result())
            if shifts:
                worked_at = time.monotonic()
            elif time.monotonic() - worked_at > PATIENCE_SECONDS:
                raise SystemExit(
                    f"No shift for {PATIENCE_SECONDS:.0f} s: {run.state}. {run.reason}"
                )
            if shifts:
                seconds = SCHEDULER_SECONDS if len(shifts) == workers else START_SECONDS
                wait(shifts, seconds, FIRST_COMPLETED)
            else:
                # This process is the scheduler: it makes the rows of grants itself when a look
                # finds something due by the clock, and there is no shift to be waited for.
                time.sleep(START_SECONDS)
            run.refresh_from_db()
        for shift in shifts:
            total.add(shift.result())
    assert run.started_at
    assert run.finished_at
    pages, seconds = (
        Page.objects.filter(run=run).count(),
        (run.finished_at - run.started_at).total_seconds(),
    )
    if not pages:
        raise SystemExit(f"No page was had: {run.reason}")
    print(
        f"{run.reason} {pages:,} pages in {seconds:.1f} s (with starting "
        f"{time.monotonic() - began:.1f} s), {workers} workers"
    )
    print(f"{pages / seconds:10.0f} pages a second")
    print(f"{total.queries / pages:10.2f} queries a page, of the shifts' own threads")
    print(f"{total.waits / pages:10.1f} waits a page, of all threads")
    print(f"{total.most_bytes / 2**20:10.0f} MiB at most in a worker")
    spent = {**total.seconds, "PostgreSQL": server_seconds() - server}
    for name, each in sorted(spent.items(), key=lambda item: -item[1]):
        print(f"{1000 * each / pages:10.2f} ms a page: {name}")
    print(f"{1000 * sum(spent.values()) / pages:10.2f} ms a page in all")
    for name, each in sorted(total.stages.items(), key=lambda item: -item[1]):
        print(f"{1000 * each / pages:10.3f} ms a page: {name}")


if __name__ == "__main__":
    set_up_django()
    main()
