"""What each use of a crawl takes: time by the clock and of the processor, memory, and room on the
disk. `python -m benchmarks.crawling.uses FOLDER [--workers 2] [--only TEXT…]`

The product crawls a folder of HTML, served on loopback, and once more by `crawl check` after a
tenth of its pages has changed. Then each use is a command in a process of its own, with nothing but
PostgreSQL beside it. Needs a PostgreSQL with migrated tables, a Redis of its own, and an empty
state directory; a crawl that is there from an earlier time is used again.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from django.conf import settings
from django.db import connection

from benchmarks.crawling.use_steps import STEPS, latest_reread_run
from benchmarks.report import Table, options
from benchmarks.scene.crawls import make_ready
from benchmarks.scene.product import Product, environment_at_hand, running_product
from benchmarks.scene.sites import served_folder
from benchmarks.timer import MIB, await_change, resident_of, run_command
from crawling.datasets.lag import lags_of
from crawling.jobs.rq_jobs import live_workers
from crawling.models import CrawlJob, Run
from crawlsite.env import BASE_DIR, child_environment

NAME = "uses"
#: a port on loopback, fixed, since a run that is used again has it in its addresses
PORT = 8913
LOOK_SECONDS = 1.0
#: the time by which workers have started
START_SECONDS = 60.0
#: the time limit for the datasets and the index of the largest crawl
DATASETS_SECONDS = 1800.0
#: the most characters of a failed use's output that are printed
MOST_TOLD = 2_000
RULES = ("title=h1", "code=pre > code")
MANAGE = [sys.executable, "manage.py"]


class Room(NamedTuple):
    """Numbers of bytes on the disk, for all crawls of this installation."""

    warc: int
    #: the bytes of files other than WARC files
    beside: int
    database: int

    def since(self, earlier: Room) -> Room:
        return Room(*(now - then for now, then in zip(self, earlier, strict=True)))


def room() -> Room:
    sizes: Counter[bool] = Counter()
    for file in Path(settings.ARCHIVE_DIR).rglob("*"):
        with suppress(FileNotFoundError):  # the search index deletes files while it is merged
            if file.is_file():
                sizes[".warc" in file.name] += file.stat().st_blocks * 512
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return Room(sizes[True], sizes[False], cursor.fetchone()[0])


def uses(number: int) -> dict[str, list[str]]:
    """The command of each use, by name. number: the run whose pages are read."""
    step = [sys.executable, "-m", "benchmarks.crawling.use_steps"]
    extract = [*MANAGE, "crawl", "extract", NAME, *RULES, "--run", str(number)]
    of_run = [NAME, "--run", str(number)]
    return {
        **{name: [*step, name, NAME] for name in STEPS},
        "link check, JSON Lines": [*MANAGE, "links", "check", *of_run, "--json"],
        "clusters of near copies": [*MANAGE, "crawl", "copies", *of_run],
        "link graph": [*MANAGE, "crawl", "graph", *of_run, "--compute"],
        "preview of two rules": [*extract, "--preview"],
        "extraction again, two rules": extract,
        "pages by next visit": [*MANAGE, "crawl", "freshness", NAME],
        "links again from the archive": [*MANAGE, "links", "rebuild", *of_run],
        "second readings": [*MANAGE, "links", "read-again", *of_run],
    }


def main() -> None:
    asked = options(__doc__, "folder", workers=2, only=[""])
    crawl_twice(Path(asked.folder[0]), asked.workers)
    table = new_table()
    for name, words in uses(latest_reread_run(latest_run().crawl).number).items():
        if any(text in name for text in asked.only):
            tell(table, name, words)


def new_table() -> Table:
    return Table("clock s", "CPU s", "+ PG s", "MiB", "beside MB", "database MB", "use")


def tell(table: Table, name: str, words: Sequence[str], statuses: Sequence[int] = (0,)) -> None:
    """Measure a command. Print the result, and the last line of its output."""
    before = room()
    with TemporaryFile() as out:
        status, taken = run_command(words, out, child_environment({}))
        out.seek(max(0, out.seek(0, os.SEEK_END) - MOST_TOLD))
        said = out.read().decode(errors="replace").strip()
    more = room().since(before)
    times = (taken.clock, taken.here, taken.there)
    sizes = (taken.memory / MIB, more.beside / 1e6, more.database / 1e6)
    table.row(*times, *sizes, f"{name:44}{said.splitlines()[-1][:100] if said else ''}")
    if status not in statuses:
        raise SystemExit(f"“{name}” has failed: {said}")


def crawl_twice(folder: Path, workers: int) -> None:
    make_ready()
    if found := CrawlJob.objects.filter(name=NAME).first():
        if found.runs.filter(state="finished").count() < 2:
            raise SystemExit("An earlier time was cut off: begin with an empty state directory.")
        return
    order = [f"http://127.0.0.1:{PORT}/", "--name", NAME, "--delay", "0"]
    order += ["--processes", str(workers)]
    crawl, environment = [*MANAGE, "crawl"], environment_at_hand(WORKERS=str(workers))
    with served_folder(folder, PORT) as edition, running_product(environment) as product:
        await_change(
            lambda: live_workers() >= workers,
            f"No {workers} workers are up.",
            seconds=START_SECONDS,
            every=LOOK_SECONDS,
        )
        table = new_table()
        with spending(product):
            tell(table, "crawl", [*crawl, "new", *order, "--requisites", "--wait"])
            await_datasets()
        edition.value += 1
        with spending(product):
            tell(table, "crawl check, a second run", [*crawl, "check", *order, "--keep"], (0, 1))
            await_datasets()


@contextmanager
def spending(product: Product) -> Iterator[None]:
    """Print the processor time of the product's programs during the block, and the most memory of
    each with all processes that it started.
    """
    most: Counter[str] = Counter()
    before, stored, ended = product.totals(), room(), threading.Event()

    def look() -> None:
        nonlocal most
        while not ended.wait(LOOK_SECONDS):
            most |= product.totals(resident_of)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
    more = room().since(stored)
    print(
        f"  WARC {more.warc / 1e6:.1f} MB, beside it {more.beside / 1e6:.1f} MB, database "
        f"{more.database / 1e6:.1f} MB"
    )
    for kind, seconds in sorted(product.totals().items()):
        print(
            f"  {kind:12}{seconds - before[kind]:8.1f} s of the processor, "
            f"{most[kind] / MIB:5.0f} MiB at most"
        )


def await_datasets() -> None:
    """Wait until all pages of the latest run are in each dataset and the index."""
    run = latest_run()
    seconds = await_change(
        lambda: not any(one.behind for one in lags_of(run)),
        "The datasets are not complete.",
        seconds=DATASETS_SECONDS,
        every=LOOK_SECONDS,
    )
    print(f"  datasets and index complete {seconds:.0f} s after it", flush=True)


def latest_run() -> Run:
    return Run.objects.select_related("crawl").get(crawl__name=NAME, is_latest=True)


if __name__ == "__main__":
    os.chdir(BASE_DIR)
    main()
