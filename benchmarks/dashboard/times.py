"""How long pages take where there is much, in a database of its own on the server that DATABASE_URL
names.

python -m benchmarks.dashboard.times [--crawls 300000 --live 100 --pages 1000000 --hosts 100000
--rows 100000 --links 1000000] [--keep] [--beside-crawls] [--only TEXT…]

With --keep the scene stays in a database, and the next time a copy of it is measured. With
--beside-crawls all is measured while two workers crawl at full rate, with --only what has one of
the texts in its address.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from allocation.models import Outbox, Pool, Process
from allocation.services import create_pool_like, keep_wait_counts
from benchmarks.dashboard.answers import show
from benchmarks.dashboard.page_urls import page_urls
from benchmarks.report import options
from benchmarks.scene.crawls import await_full_speed, begin_crawl, busy_webs, fetched_count
from benchmarks.scene.database import database_of_pages, execute, serve_pages
from benchmarks.scene.installation import Filled, Size, fill
from benchmarks.scene.links import forget_links
from benchmarks.scene.product import SCHEDULER, WORKER, program
from benchmarks.timer import machine_speed
from crawling.installation.pools import capacity_of, default_pool

SIZE = Size(crawls=300_000, live=100, pages=1_000_000, hosts=100_000, rows=100_000, links=1_000_000)
SNAPSHOT, COPY = "bench_scene", "bench_scene_copy"


def main() -> None:
    """Fill the database, then request each page."""
    asked = vars(options(__doc__, **vars(SIZE), keep=False, beside_crawls=False, only=[""]))
    keeps, is_beside, only = (asked.pop(name) for name in ("keep", "beside_crawls", "only"))
    print(machine_speed())
    with (copy_of_snapshot if keeps else filled_database)(Size(**asked)) as filled:
        wanted = (url for _, url in page_urls(filled) if any(text in url for text in only))
        if not is_beside:
            return show(wanted)
        with crawls_beside() as runs:
            before, began = fetched_count(runs), time.monotonic()
            show(wanted, is_beside=True)
            rate = (fetched_count(runs) - before) / (time.monotonic() - began)
        print(f"beside two crawls that fetched {rate:.0f} pages/s")


@contextmanager
def filled_database(size: Size) -> Iterator[Filled]:
    with database_of_pages():
        try:
            yield fill(size)
        finally:
            forget_links()


@contextmanager
def copy_of_snapshot(size: Size) -> Iterator[Filled]:
    """Use a copy of the filled database until the block ends. The database is filled first if it
    does not exist, and migrated if it is old.
    """
    serve_pages()
    own = connection.settings_dict["NAME"]
    try:
        filled = _snapshot(size)
        _use_database(own)
        execute(f"DROP DATABASE IF EXISTS {COPY} WITH (FORCE)")
        execute(f"CREATE DATABASE {COPY} TEMPLATE {SNAPSHOT} STRATEGY FILE_COPY")
        _use_database(COPY)
        yield filled
    finally:
        _use_database(own)
        execute(f"DROP DATABASE IF EXISTS {COPY} WITH (FORCE)")


def _snapshot(size: Size) -> Filled:
    """The snapshot. The last thing written is the mark that it is complete. An old snapshot lacks
    counts that schedulers now store.
    """
    note = Path(settings.STATE_DIR, f"{SNAPSHOT}.json")
    if not note.exists():
        execute(f"DROP DATABASE IF EXISTS {SNAPSHOT} WITH (FORCE)", f"CREATE DATABASE {SNAPSHOT}")
    _use_database(SNAPSHOT)
    call_command("migrate", verbosity=0)
    if not note.exists():
        call_command("set_up")
        note.write_text(json.dumps(asdict(fill(size))))
    keep_wait_counts()
    return Filled(**json.loads(note.read_text()))


def _use_database(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name


@contextmanager
def crawls_beside() -> Iterator[list[int]]:
    """Run two crawls at full rate until the block ends, with a scheduler and two workers on the
    database at hand. They have a separate pool, since that of the scene has no free units. Yields
    the ids of the runs.
    """
    _leave_the_scene_alone()
    with ExitStack() as stack:
        webs, pool = stack.enter_context(busy_webs()), _ensure_pool()
        runs = [begin_crawl("Beside", seeds, pool=pool).pk for seeds in webs]
        for words in (SCHEDULER, WORKER, WORKER):
            stack.enter_context(program(*words))
        await_full_speed(runs)
        yield runs


def _leave_the_scene_alone() -> None:
    """Let workers elsewhere hold the units of the scene's crawls for a day."""
    Process.objects.filter(lease_until__isnull=False).update(
        worker="elsewhere", lease_until=timezone.now() + timedelta(days=1)
    )
    Outbox.objects.filter(sent_at=None).update(sent_at=timezone.now())


def _ensure_pool() -> str:
    name = "Beside"
    if not Pool.objects.filter(name=name).exists():
        create_pool_like(name=name, capacity=capacity_of(default_pool()) | {"worker": 2})
    return name


if __name__ == "__main__":
    main()
