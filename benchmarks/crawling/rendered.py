"""The speed and cost of rendered pages, and how they compare with other crawlers:

    python -m benchmarks.crawling.rendered [--rounds 3] [--browser-pages 1 2 4] [--hosts 8]
    python -m benchmarks.crawling.rendered --folder /usr/share/doc/postgresql-doc-15/html
    python -m benchmarks.crawling.rendered --rounds 5 --browser-pages 4 --skip-half \\
        --peer scrapy="/path/to/python /path/to/peer.py {seeds} 4"

The sites of `tests.webs.rendered` are served on loopback by a process of their own, each on several
hosts. *React* is a site whose pages are all made by scripts, of 14 pages a host; *half* has nine
plain pages of 17. One work session in this process crawls them, with a delay of 0. A figure is the
median of the rounds, in which all ways take turns.

- By the number of open browser pages: pages a second, for each browser page and each GiB that the
  browser, its driver and its program have in memory (PSS); processor seconds a page, of all
  processes, PostgreSQL's too; the seconds that a page has its browser page, and what its renditions
  take in the archive.
- *Never*, *when needed* and *always* on the half static site: the share of the expected pages that
  were found, and of the cost of *always*.
- With a folder of HTML instead: what the renditions of some of its pages take in the archive.
- Peers: in a command `{seeds}` stands for the URLs, with commas between them. It prints, as its
  last line, the pages and the links that it found, and the seconds from its start to its last page.
  Their processor time is that of all their processes.

Needs a PostgreSQL with migrated tables; its crawls are kept.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import mean, median
from tempfile import TemporaryDirectory

import psutil

from allocation.models import Pool
from allocation.services import create_pool, set_capacity
from benchmarks.report import Table, options
from benchmarks.scene.crawls import allow_loopback, begin_crawl, nothing_is_held, to_the_end
from benchmarks.scene.sites import NOT_HERE, Asked, reply, served, served_folder
from benchmarks.timer import in_turn, process_tree, server_seconds
from crawling.fetching.worker.jobs import prepare_to_fork
from crawling.installation.pools import default_classes
from crawling.models import Page, Run
from tests.webs.rendered.expected import SITES
from tests.webs.rendered.serving import answers_of

SUBNET = "127.0.17"
MEBIBYTES = 512
FOLDER_PORT, FOLDER_PAGES = 8931, 12
GIB = 2**30
#: of Linux's prctl: orphaned descendants become children of this process, so that none of their
#: processor time is lost
SUBREAPER = 36
LOOK_SECONDS, LAST_SECONDS = 2.0, 10.0
BROWSER_WORDS = ("chrom", "playwright", "crawling.web.rendering")


@dataclass
class Cost:
    clock: float = 0.0
    #: of all processes that worked, PostgreSQL among them
    processor: float = 0.0
    #: the most memory (PSS) of the browser, its driver and its program
    memory: float = 0.0
    #: what it took of the processor to measure the memory
    looked: float = 0.0


@dataclass
class Round:
    pages: int
    rendered: int
    #: the share of the expected pages that were found
    recall: float
    cost: Cost
    #: of the rendered pages: the mean time in the browser, and the bytes of their renditions
    page_seconds: float = 0.0
    archived: float = 0.0


@dataclass
class Rounds:
    all: list[Round] = field(default_factory=list)

    def median(self, of: str) -> float:
        """The median of a figure of rounds or of their costs."""
        holders = [one if hasattr(one, of) else one.cost for one in self.all]
        return median(float(getattr(holder, of)) for holder in holders)

    def a_second(self) -> float:
        return median(one.pages / one.cost.clock for one in self.all)

    def processor_a_page(self) -> float:
        return median(one.cost.processor / one.pages for one in self.all)


def main() -> None:
    asked = options(
        __doc__,
        **{"rounds": 3, "hosts": 8, "browser_pages": [1, 2, 4]},
        **{"skip_half": False, "peer": [""], "folder": ""},
    )
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    if not Pool.objects.exists():
        create_pool(name="default", classes=default_classes(1))
    allow_loopback()
    if not nothing_is_held():
        raise SystemExit(
            "A crawl that was cut off holds units here: begin with an empty directory."
        )
    prepare_to_fork()
    if asked.folder:
        return measure_renditions(Path(asked.folder), max(asked.browser_pages))
    peers = dict(one.split("=", 1) for one in filter(None, asked.peer))
    with served_sites("react", asked.hosts) as seeds:
        measure_speed(seeds, asked.browser_pages, asked.rounds)
        if peers:
            compare(seeds, peers, max(asked.browser_pages), asked.rounds)
    if not asked.skip_half:
        with served_sites("half", asked.hosts) as seeds:
            measure_half(seeds, max(asked.browser_pages), asked.rounds)


@contextmanager
def served_sites(name: str, hosts: int) -> Iterator[list[str]]:
    addresses = [f"{SUBNET}.{number + 1}" for number in range(hosts)]
    with served(partial(_answer, name), addresses) as port:
        yield [f"http://{address}:{port}/" for address in addresses]


_ANSWERS: dict[str, dict[str, bytes]] = {}


async def _answer(name: str, asked: Asked) -> bytes:
    if name not in _ANSWERS:
        _ANSWERS[name] = {
            path: reply(found[2], kind=found[1]["Content-Type"].partition(";")[0])
            for path, found in answers_of(SITES[name]).items()
        }
    return _ANSWERS[name].get(asked.target.partition("?")[0], NOT_HERE)


def measure_speed(seeds: Sequence[str], sizes: Sequence[int], rounds: int) -> None:
    found: dict[int, Rounds] = defaultdict(Rounds)
    crawl(seeds, sizes[-1], render="always")  # the first one compiles and fills caches
    for _, size in in_turn(sizes, rounds):
        found[size].all.append(crawl(seeds, size, render="always"))
    print("React, each page rendered:")
    table = Table(
        *("open", "pages/s", "of each", "of a GiB", "CPU-s/page", "s/page", "KB/page", "MiB"),
        "recall",
    )
    for size, one in sorted(found.items()):
        speed, memory = one.a_second(), one.median("memory")
        table.row(
            *(size, speed, speed / size, speed / memory * GIB, one.processor_a_page()),
            *(one.median("page_seconds"), one.median("archived") / 1000, memory / 2**20),
            f"{one.median('recall'):.1%}",
        )


def measure_half(seeds: Sequence[str], size: int, rounds: int) -> None:
    found: dict[str, Rounds] = defaultdict(Rounds)
    for _, render in in_turn(["never", "when_needed", "always"], rounds):
        found[render].all.append(crawl(seeds, size, render=render))
    print("Half static:")
    always = found["always"]
    table = Table("pages", "rendered", "CPU-s", "of always", "s", "recall", "render")
    for render, one in found.items():
        processor, every = one.median("processor"), always.median("processor")
        table.row(
            *(one.median("pages"), one.median("rendered"), processor, f"{processor / every:.0%}"),
            *(one.median("clock"), f"{one.median('recall'):.1%}", render),
        )


def measure_renditions(folder: Path, size: int) -> None:
    with served_folder(folder, FOLDER_PORT):
        seeds = [f"http://127.0.0.1:{FOLDER_PORT}/index.html"]
        one = crawl(seeds, size, render="always", max_pages=FOLDER_PAGES)
    print(f"{folder}: {one.archived / 1000:.0f} KB a page, of {one.rendered} pages")


def compare(seeds: Sequence[str], peers: dict[str, str], size: int, rounds: int) -> None:
    found: dict[str, Rounds] = defaultdict(Rounds)
    ours = {"crawlsite": {}, "crawlsite, no archive": {"archive": False}}
    for _, name in in_turn([*ours, *peers], rounds):
        if name in ours:
            one = crawl(seeds, size, render="always", **ours[name])
        else:
            one = peer(peers[name], seeds)
        found[name].all.append(one)
        print(
            f"  {name}: {one.pages / one.cost.clock:.2f} pages/s, "
            f"{one.cost.processor / one.pages:.3f} CPU-s a page, {one.recall:.0%}",
            flush=True,
        )
    print(f"React, {size} pages at a time:")
    table = Table("pages/s", "CPU-s/page", "recall", "crawler")
    for name, rounds_of_it in found.items():
        recall = f"{rounds_of_it.median('recall'):.1%}"
        table.row(rounds_of_it.a_second(), rounds_of_it.processor_a_page(), recall, name)


def crawl(seeds: Sequence[str], size: int, **fields: object) -> Round:
    units = {"browsers": size, "browser_memory": size * MEBIBYTES}
    set_capacity(pool=Pool.objects.get(name="default").pk, capacity=units)
    claim = units if fields["render"] != "never" else {}
    run = begin_crawl("rendered", seeds, claim=claim, **fields)
    with measured() as cost:
        to_the_end(run)
    return _round(run, seeds, cost)


def _round(run: Run, seeds: Sequence[str], cost: Cost) -> Round:
    pages = Page.objects.filter(run=run, status=200).select_related("url")
    rows = list(pages.values_list("url__url", "rendering", "rendition"))
    rendered = [made for _, why, made in rows if why is not None and 0 < why < 20]
    facts = [one for one in rendered if one]
    sizes = [sum(length for _, length in one["records"].values()) for one in facts]
    return Round(
        len(rows),
        len(rendered),
        _recall({url for url, *_ in rows}, seeds),
        cost,
        mean(one["seconds"] for one in facts) if facts else 0.0,
        mean(sizes) if sizes else 0.0,
    )


def _recall(found: set[str], seeds: Sequence[str]) -> float:
    name = "half" if any(url.endswith("/articles/swift.html") for url in found) else "react"
    expected = {seed[:-1] + path for seed in seeds for path in SITES[name].links}
    return len(expected & found) / len(expected)


def peer(command: str, seeds: Sequence[str]) -> Round:
    words = shlex.split(command.replace("{seeds}", ",".join(seeds)))
    with TemporaryDirectory(prefix="crawlsite-bench-") as folder, measured() as cost:
        ended = subprocess.run(  # noqa: S603  # named on the command line of this benchmark
            words, cwd=folder, capture_output=True, text=True, check=False
        )
    if ended.returncode:
        raise SystemExit(f"{command}: {ended.stderr[-3000:]}")
    pages, links, seconds = ended.stdout.strip().splitlines()[-1].split()
    cost.clock = float(seconds)
    expected = len(SITES["react"].links) * len(seeds)
    return Round(int(pages), int(pages), min(1.0, int(links) / expected), cost)


@contextmanager
def measured() -> Iterator[Cost]:
    """The cost of a block, with all processes that it starts, which end with it."""
    cost, over = Cost(), threading.Event()
    looker = threading.Thread(target=_look_at_memory, args=(cost, over))
    before, began = _processor_seconds(), time.perf_counter()
    looker.start()
    try:
        yield cost
    finally:
        cost.clock = time.perf_counter() - began
        over.set()
        looker.join()
    _reap_orphans()
    cost.processor = _processor_seconds() - before - cost.looked


def _processor_seconds() -> float:
    ended = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + server_seconds()


def _reap_orphans() -> None:
    """Wait for the ended processes of browsers, whose parents ended before them."""
    until = time.monotonic() + LAST_SECONDS
    while time.monotonic() < until:
        for child in psutil.Process().children():
            with suppress(ChildProcessError, psutil.NoSuchProcess):
                if child.status() == psutil.STATUS_ZOMBIE:
                    os.waitpid(child.pid, 0)
        if not any(_is_of_browser(one) for one in process_tree(os.getpid())[1:]):
            return
        # the kernel tells the end of a process to its parent alone, which may be another one still
        time.sleep(0.05)


def _look_at_memory(cost: Cost, over: threading.Event) -> None:
    while not over.wait(LOOK_SECONDS):
        total = 0.0
        for process in process_tree(os.getpid())[1:]:
            with suppress(psutil.Error):
                if _is_of_browser(process):
                    total += process.memory_full_info().pss
        cost.memory = max(cost.memory, total)
    cost.looked = time.thread_time()


def _is_of_browser(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        words = " ".join([process.name(), *process.cmdline()])
        return any(word in words for word in BROWSER_WORDS)
    return False


if __name__ == "__main__":
    main()
