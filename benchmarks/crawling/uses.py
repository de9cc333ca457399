"""What each use of a crawl takes: time by the clock and of the processor, memory, and room on the
disk. `python -m benchmarks.crawling.uses FOLDER [--workers 2] [--only TEXT…]`

The product crawls a folder of HTML, served on loopback, and once more by `crawl check` after a
tenth of its pages has changed. Then each use is a command in a process of its own, with nothing but
PostgreSQL beside it. Wants a PostgreSQL whose tables are made, a Redis of its own, and an empty
state directory; a crawl that is there from an earlier time is used again.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import psutil

from benchmarks.crawling.folder_site import served_folder
from benchmarks.crawling.measuring import HEAD, MIB, Taken, line, measured, room
from benchmarks.crawling.use_steps import whole_run
from benchmarks.scene.database import set_up_django
from benchmarks.waiting import await_change
from crawlsite.env import BASE_DIR, for_child

if TYPE_CHECKING:
    from crawling.models import Run

NAME = "uses"
#: of loopback: the run that is used again has it in its addresses
PORT = 8913
LOOK_SECONDS = 1.0
#: workers are up before
START_SECONDS = 60.0
#: for the datasets and the index of the largest crawl to be complete
DATASETS_SECONDS = 1800.0
#: what is printed of a use that failed
MOST_TOLD = 2_000
RULES = ("title=h1", "code=pre > code")


def uses(number: int) -> dict[str, list[str]]:
    """The command of each use, by name. number: of the run whose pages are read."""
    manage, step = [sys.executable, "manage.py"], [sys.executable, "-m"]
    step += ["benchmarks.crawling.use_steps"]
    extract = [*manage, "crawl", "extract", NAME, *RULES, "--run", str(number)]
    of_run = [NAME, "--run", str(number)]
    return {
        "nothing": [*step, "nothing", NAME],
        "link check, each tab once": [*step, "tabs", NAME],
        "link check, CSV": [*step, "csv", NAME],
        "link check, JUnit": [*step, "junit", NAME],
        "link check, JSON Lines (command)": [*manage, "links", "check", *of_run, "--json"],
        "links of two runs compared, CSV": [*step, "changes", NAME],
        "preview of two rules": [*extract, "--preview"],
        "extraction again, two rules": extract,
        "watch of all pages": [*step, "watch", NAME],
        "the same, numbers are no change": [*step, "watch_without_numbers", NAME],
        "plan of revisits": [*step, "plan", NAME],
        "pages by next visit (command)": [*manage, "crawl", "freshness", NAME],
        "second reading, a tenth": [*step, "microformats", NAME],
        "links again from the archive": [*manage, "links", "rebuild", *of_run],
        "second readings": [*manage, "links", "read-again", *of_run],
    }


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("folder", type=Path)
    reader.add_argument("--workers", type=int, default=2)
    reader.add_argument("--only", nargs="+", default=[""], help="uses with one of these in them")
    asked = reader.parse_args()
    crawl_twice(asked.folder, asked.workers)
    print(HEAD)
    for name, command in uses(whole_run(latest_run().crawl).number).items():
        if any(text in name for text in asked.only):
            tell(name, command)


def tell(name: str, command: Sequence[str], statuses: Sequence[int] = (0,)) -> Taken:
    """Measure a command, and print what it took, and the last line of what it says."""
    with TemporaryFile() as out:
        taken = measured(command, out, env=for_child({}))
        out.seek(max(0, out.seek(0, os.SEEK_END) - MOST_TOLD))
        said = out.read().decode(errors="replace").strip()
    print(f"{line(name, taken)}  {said.splitlines()[-1][:100] if said else ''}", flush=True)
    if taken.status not in statuses:
        raise SystemExit(f"“{name}” has failed: {said}")
    return taken


def crawl_twice(folder: Path, workers: int) -> None:
    from django.conf import settings

    from benchmarks.crawling import many
    from benchmarks.scene import crawls
    from crawling.models import CrawlJob

    crawls.make_ready()
    if found := CrawlJob.objects.filter(name=NAME).first():
        if found.runs.filter(state="finished").count() < 2:
            raise SystemExit("An earlier time was cut off: begin with an empty state directory.")
        return
    seed = f"http://127.0.0.1:{PORT}/"
    order = [seed, "--name", NAME, "--delay", "0", "--processes", str(workers)]
    crawl = [sys.executable, "manage.py", "crawl"]
    log = Path(settings.STATE_DIR) / "uses.log"
    with served_folder(folder, PORT) as edition, many.product(workers, log) as (_, programs):
        await_workers(workers)
        print(HEAD)
        with spending(programs):
            tell("crawl", [*crawl, "new", *order, "--requisites", "--wait"])
            await_datasets()
        edition.value += 1
        with spending(programs):
            tell("crawl check, a second run", [*crawl, "check", *order, "--keep"], (0, 1))
            await_datasets()


@contextmanager
def spending(programs: Mapping[str, int]) -> Iterator[None]:
    """Print what the product's programs took meanwhile, and the most memory that each had with all
    that it started.
    """
    from benchmarks.crawling import many

    most: dict[str, float] = {}
    before, ended, stored = many.spending(dict(programs)), threading.Event(), room()
    watcher = threading.Thread(target=_look, args=(programs, most, ended))
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
    more = room() - stored
    print(
        f"  WARC {more.warc / 1e6:.1f} MB, beside it {more.beside / 1e6:.1f} MB, database "
        f"{more.database / 1e6:.1f} MB"
    )
    for kind, seconds in sorted(many.spending(dict(programs)).items()):
        print(
            f"  {kind:12}{seconds - before[kind]:8.1f} s of the processor, {most.get(kind, 0):5.0f}"
            " MiB at most"
        )


def _look(programs: Mapping[str, int], most: dict[str, float], ended: threading.Event) -> None:
    while not ended.wait(LOOK_SECONDS):
        for name, pid in programs.items():
            with suppress(psutil.NoSuchProcess):
                program = psutil.Process(pid)
                here = [program, *program.children(recursive=True)]
                mebibytes = sum(one.memory_info().rss for one in here) / MIB
                kind = name.partition(".")[0]
                most[kind] = max(most.get(kind, 0), mebibytes)


def await_workers(count: int) -> None:
    from crawling.jobs.rq_jobs import live_workers

    await_change(
        lambda: live_workers() >= count,
        f"No {count} workers are up.",
        seconds=START_SECONDS,
        every=LOOK_SECONDS,
    )


def await_datasets() -> None:
    """Until all pages of the latest run are in each dataset and the index."""
    from crawling.datasets.progress import dataset_states

    run, began = latest_run(), time.monotonic()
    await_change(
        lambda: not any(one.behind for one in dataset_states(run)),
        "The datasets are not complete.",
        seconds=DATASETS_SECONDS,
        every=LOOK_SECONDS,
    )
    print(f"  datasets and index complete {time.monotonic() - began:.0f} s after it", flush=True)


def latest_run() -> Run:
    from crawling.models import Run

    return Run.objects.select_related("crawl").get(crawl__name=NAME, is_latest=True)


if __name__ == "__main__":
    set_up_django()
    os.chdir(BASE_DIR)
    main()
