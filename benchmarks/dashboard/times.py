"""How long pages take where there is much, in a database of its own on the server that DATABASE_URL
names.

python -m benchmarks.dashboard.times [--crawls 300000 --live 100 --pages 1000000 --hosts 100000
--rows 100000 --links 1000000] [--keep] [--beside-crawls] [--only TEXT…]

With --keep the scene stays in a database, and the next time a copy of it is measured. With
--beside-crawls all is measured while two workers crawl at full rate, with --only what has one of
the texts in its address.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

from django.utils import timezone

from allocation.models import Outbox, Pool, Process
from allocation.services import create_pool_like
from benchmarks.dashboard.answers import show
from benchmarks.dashboard.page_urls import page_urls
from benchmarks.scene.crawls import await_full_speed, begin, busy_webs, fetched
from benchmarks.scene.database import database_of_pages
from benchmarks.scene.database_snapshot import copy_of_snapshot
from benchmarks.scene.installation import Filled, Size, fill
from benchmarks.scene.links import forget_links
from benchmarks.scene.product import SCHEDULER, WORKER, program
from benchmarks.timer import machine_speed
from crawling.installation.pools import capacity_of, default_pool

SIZE = Size(crawls=300_000, live=100, pages=1_000_000, hosts=100_000, rows=100_000, links=1_000_000)


def main() -> None:
    """Fill, then ask for each page."""
    reader = argparse.ArgumentParser(description=__doc__)
    for name, usual in vars(SIZE).items():
        reader.add_argument(f"--{name}", type=int, default=usual)
    for name in ("keep", "beside-crawls"):
        reader.add_argument(f"--{name}", action="store_true")
    reader.add_argument("--only", nargs="+", default=[""])
    asked = vars(reader.parse_args())
    keeps, is_beside, only = (asked.pop(name) for name in ("keep", "beside_crawls", "only"))
    print(machine_speed())
    with (copy_of_snapshot if keeps else filled_database)(Size(**asked)) as filled:
        wanted = (url for _, url in page_urls(filled) if any(text in url for text in only))
        if not is_beside:
            return show(wanted)
        with crawls_beside() as runs:
            before, began = fetched(runs), time.monotonic()
            show(wanted, is_beside=True)
            rate = (fetched(runs) - before) / (time.monotonic() - began)
        print(f"beside two crawls that fetched {rate:.0f} pages/s")


@contextmanager
def filled_database(size: Size) -> Iterator[Filled]:
    with database_of_pages():
        try:
            yield fill(size)
        finally:
            forget_links()


@contextmanager
def crawls_beside() -> Iterator[list[int]]:
    """The runs of two crawls at full rate, by a scheduler and two workers on the database at hand.
    In a pool of their own: that of the scene has nothing free.
    """
    _leave_the_scene_alone()
    with ExitStack() as stack:
        webs, pool = stack.enter_context(busy_webs()), _pool()
        runs = [begin("Beside", seeds, pool=pool).pk for seeds in webs]
        for words in (SCHEDULER, WORKER, WORKER):
            stack.enter_context(program(*words))
        await_full_speed(runs)
        yield runs


def _leave_the_scene_alone() -> None:
    """What the scene's crawls were granted is held by workers elsewhere, for a day."""
    Process.objects.filter(lease_until__isnull=False).update(
        worker="elsewhere", lease_until=timezone.now() + timedelta(days=1)
    )
    Outbox.objects.filter(sent_at=None).update(sent_at=timezone.now())


def _pool() -> str:
    name = "Beside"
    if not Pool.objects.filter(name=name).exists():
        create_pool_like(name=name, capacity=capacity_of(default_pool()) | {"worker": 2})
    return name


if __name__ == "__main__":
    main()
