"""Where each millisecond of a page goes: `python -m benchmarks.crawling.budget [--only light]`

Light pages are PostgreSQL's manual, heavy ones Python's (Debian's packages postgresql-doc-15 and
python3.11-doc), each one host on loopback that one worker crawls with every default on and a delay
of 0. Of each scene are told, in milliseconds of a processor a page:

- the threads of the work process, the stages of a page in them (`benchmarks.crawling.spending`),
  and PostgreSQL's statements by its own clock (pg_stat_statements, where it is installed);
- functions, by the share of samples in which their thread had the interpreter's lock (py-spy,
  which does not stop the process, and loses samples of what changes meanwhile);
- the second readings, in the process that the idle worker forks;
- each process of the product while it crawls, those that only watch included.

Each is a step on servers of its own, which is named after the options. docs/budget.md has the
figures of a release, and what they say.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from django.db.models import Max, Min

from benchmarks.crawling import spending
from benchmarks.crawling.speed import measure
from benchmarks.report import Table, options
from benchmarks.scene.crawls import allow_loopback, begin_crawl, have_ended, make_ready
from benchmarks.scene.database import execute, on_own_servers, query_rows
from benchmarks.scene.product import environment_in, running_product, title_of
from benchmarks.scene.sites import served_folder
from benchmarks.timer import await_change, process_tree, seconds_of, timed
from crawling.datasets.catch_up import write_collected_parts
from crawling.datasets.progress import unindexed_parts, unread_parts
from crawling.datasets.second_reading import read_part
from crawling.models import Page, Run
from crawling.uses.search.index import add_parts, open_writer
from crawlsite.env import BASE_DIR

SCENES = {
    "light": Path("/usr/share/doc/postgresql-doc-15/html"),
    "heavy": Path("/usr/share/doc/python3.11/html"),
}
SITE_PORT = 8917
SAMPLES_A_SECOND = 400
LOOK_SECONDS, LONGEST_SECONDS = 0.5, 600.0
#: functions, statements and processes with less than this part of the whole are left out
LEAST_FUNCTION, LEAST_STATEMENT, LEAST_PROCESS = 0.01, 0.02, 0.001
SHOWN_LENGTH = 90
#: a frame of py-spy in our own code: `function (crawling/module.py:12)`
OURS = re.compile(r"([^;()]+) \(((?:crawling|allocation|dnscache|crawlsite)/[\w/]+\.py):\d+\)")
THREADS = ("run_shift (", "FetchThreadPool._work (", "ArchiveWriter._work (")
PAGES = re.compile(r"([\d,]+) pages in .* (\d+) a second")
AGAIN = [sys.executable, "-m", "benchmarks.crawling.budget"]
COUNTED = "pg_stat_statements"
STATEMENTS = """
SELECT regexp_replace(query, '\\s+', ' ', 'g'), calls, total_exec_time / 1000
FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
ORDER BY 3 DESC
"""
READING = {
    **{
        name: [f"crawling.datasets.second_reading:{name}"]
        for name in (
            *("parse_html", "find_in_html", "bad_links", "text_of", "language_of"),
            *("put_findings", "put_structured", "put_texts"),
        )
    },
    **{
        f"StructuredDataReader.{name}": [
            f"crawling.web.documents.structured_data:StructuredDataReader.{name}"
        ]
        for name in ("read", "read_microformats", "read_text")
    },
    "MicroformatsReader.items": ["crawling.datasets.microformats:MicroformatsReader.items"],
}


def main() -> None:
    asked = options(__doc__, "step", only="")
    if asked.step:
        return STEPS[asked.step[0]](*asked.step[1:])
    for name, folder in SCENES.items():
        if asked.only in ("", name):
            if folder.is_dir():
                measure_scene(name, folder)
            else:
                print(f"{name} pages: not measured, {folder} is missing")


def measure_scene(name: str, folder: Path) -> None:
    seed = f"http://127.0.0.1:{SITE_PORT}/"
    with served_folder(folder, SITE_PORT), TemporaryDirectory(prefix="crawlsite-bench-") as state:
        print(f"--- {name} pages: {folder}", flush=True)
        run_step(state, *AGAIN, "prepare")
        print(run_step(state, *AGAIN, "crawl", seed), flush=True)
        print_functions(Path(state, "samples"), seed, state)
        print(run_step(state, *AGAIN, "read"), flush=True)
        print_processes(str(Path(state, "product")), seed)


def run_step(state: str, *command: str, may_fail: bool = False) -> str:
    """Run a command with its own servers and tables. Return its output."""
    ended = on_own_servers(state, *command)
    if ended.returncode and not may_fail:
        sys.exit(f"{' '.join(command)} has failed:\n{ended.stdout}{ended.stderr}")
    return ended.stdout.strip()


def prepare() -> None:
    """Let the server count statements from its next start."""
    if query_rows("SELECT FROM pg_available_extensions WHERE name = %s", given=[COUNTED]):
        execute(f"ALTER SYSTEM SET shared_preload_libraries = '{COUNTED}'")


def crawl(seed: str) -> None:
    """Measure threads, stages and statements of a crawl by one worker."""
    make_ready()
    is_counted = COUNTED in query_rows("SHOW shared_preload_libraries")[0][0]
    if is_counted:
        execute(f"CREATE EXTENSION IF NOT EXISTS {COUNTED}", "SELECT pg_stat_statements_reset()")
    measure([seed], 1, with_stages=True)
    if not is_counted:
        print(f"Statements: not measured, {COUNTED} is not installed")
        return
    pages, found = Page.objects.count(), query_rows(STATEMENTS)
    total = sum(seconds for *_, seconds in found)
    table = Table("ms a page", "calls", "statement of PostgreSQL, by its clock")
    for query, calls, seconds in found:
        if seconds >= LEAST_STATEMENT * total:
            table.row(1000 * seconds / pages, calls / pages, query[:SHOWN_LENGTH])
    table.row(1000 * total / pages, "", "all")


def print_functions(file: Path, seed: str, state: str) -> None:
    """Print the shares of our functions in the interpreter's time, each including the libraries
    that it calls.
    """
    given = ["--gil", "--nonblocking", "--subprocesses", "-f", "raw", "-o", str(file)]
    sampler = [str(Path(sys.executable).with_name("py-spy")), "record", *given]
    crawl = [sys.executable, "-m", "benchmarks.crawling.speed", seed]
    run_step(state, *sampler, "-r", str(SAMPLES_A_SECOND), "--", *crawl, may_fail=True)
    if not file.exists():
        print("Functions: not measured, py-spy has failed: it may not look at processes here, say")
        return
    shares = shares_of(file.read_text().splitlines())
    table = Table("% of all", "function that has the interpreter's lock, in the work process")
    table.rows(shares, scale=100, least=LEAST_FUNCTION)


def shares_of(stacks: Sequence[str]) -> Mapping[str, float]:
    """The share of each of our functions in the samples of a work process: each stack counts for
    its innermost function of ours. A line has a stack, outermost first, and its number of samples.
    """
    counts: Counter[str] = Counter()
    for line in stacks:
        stack, _, times = line.rpartition(" ")
        ours = OURS.findall(stack)
        if ours and any(thread in stack for thread in THREADS):
            counts["{} ({})".format(*ours[-1])] += int(times)
    total = counts.total()
    return {function: count / total for function, count in counts.items()}


def read() -> None:
    """Measure the second readings of the last crawl's pages: by function, for this process, and for
    the program that reads microformats.
    """
    spending.install(READING)
    run = Run.objects.latest("pk")
    with timed() as dataset:
        write_collected_parts(run.pk)
    with timed() as reading:
        pages = sum(read_part(run, part) or 0 for part in list(unread_parts(run)))
    spent = spending.spent()
    with timed() as indexing, open_writer() as index:
        add_parts(index, list(unindexed_parts().filter(run=run)))
    told = {
        **spent,
        "the links' dataset": dataset.here,
        "the program for microformats": reading.children,
        "the index": indexing.here,
        "others: stored answers, rows": reading.here - reading.children - spent.total(),
    }
    told[f"all of {pages:,} pages"] = sum(told.values())
    Table("ms a page", "second readings, of a processor").rows(told, scale=1000 / pages)


def print_processes(state: str, seed: str) -> None:
    """Print the processor time of each process of the whole product during a crawl, including the
    processes that it starts.
    """
    environment = environment_in(state)
    used: Counter[str] = Counter()
    with running_product(environment) as product:
        before = {process: seconds_of(process) for process in process_tree(product.pid)}
        titles = {process: title_of(process) for process in before}
        pages, rate = crawl_in_product(environment, [seed])
        for process in filter(lambda each: each.is_running(), before):
            begun = [child for child in process.children() if child not in before]
            taken = seconds_of(process) - before[process] + sum(map(seconds_of, begun))
            used[titles[process]] += taken  # type: ignore[assignment]
    total = used.total()
    used["all processes"] = total
    table = Table("ms a page", f"process of the product; {pages:,} pages, {rate} a second")
    table.rows(used, scale=1000 / pages, least=LEAST_PROCESS * total)


def crawl_in_product(environment: Mapping[str, str], seeds: Sequence[str]) -> tuple[int, float]:
    """Crawl each seed's site in the product that runs in this environment. Return the number of
    fetched pages, and the pages a second between the first start and the last end.
    """
    ended = subprocess.run(  # noqa: S603  # ours
        [*AGAIN, "watch", *seeds],
        cwd=BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found = PAGES.search(ended.stdout)
    assert found, ended.stdout
    return int(found[1].replace(",", "")), float(found[2])


def watch(*seeds: str) -> None:
    """Crawl each seed's site by a separate crawl, all at the same time, in the running product."""
    allow_loopback()
    keys = [begin_crawl("budget", [seed]).pk for seed in seeds]
    failure = "The crawl does not end."
    is_over = partial(have_ended, keys)
    await_change(is_over, failure, seconds=LONGEST_SECONDS, every=LOOK_SECONDS)
    runs = Run.objects.filter(pk__in=keys)
    assert not runs.filter(started_at=None).exists()
    times = runs.aggregate(first=Min("started_at"), last=Max("finished_at"))
    pages = Page.objects.filter(run__in=keys).count()
    seconds = (times["last"] - times["first"]).total_seconds()
    print(f"{pages:,} pages in {seconds:.1f} s, {pages / seconds:.0f} a second")


STEPS: dict[str, Callable[..., None]] = {
    step.__name__: step for step in (prepare, crawl, read, watch)
}


if __name__ == "__main__":
    main()
