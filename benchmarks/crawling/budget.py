"""Where each millisecond of a page goes: `python -m benchmarks.crawling.budget [--only light]`

Light pages are PostgreSQL's manual, heavy ones Python's (Debian's packages postgresql-doc-15 and
python3.11-doc), each one host on loopback that one worker crawls with every default on and a delay
of 0. Of each scene are told, in milliseconds of a processor a page:

- the threads of the work process, the stages of a page in them
  (`benchmarks.crawling.stage_costs`), and PostgreSQL's statements by its own clock
  (pg_stat_statements, where it is installed);
- functions, by the share of samples in which their thread had the interpreter's lock (py-spy,
  which does not stop the process, and loses samples of what changes meanwhile);
- the second readings, in the process that the idle worker forks;
- each process of the product while it crawls, those that only watch included.

docs/budget.md has the figures of a release, and what they say.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from benchmarks.crawling.folder_site import served_folder
from benchmarks.dashboard.idle import seconds_of, title_of
from benchmarks.dashboard.viewers import environment_in, running_product
from benchmarks.scene.database import in_services
from crawlsite.env import BASE_DIR

SCENES = {
    "light": Path("/usr/share/doc/postgresql-doc-15/html"),
    "heavy": Path("/usr/share/doc/python3.11/html"),
}
SITE_PORT = 8917
SAMPLES_A_SECOND = 400
#: functions and processes below this part of the whole are left out
LEAST_SHARE = 0.01
#: a frame of py-spy that is our own: `function (crawling/module.py:12)`
OURS = re.compile(r"([^;()]+) \(((?:crawling|allocation|dnscache|crawlsite)/[\w/]+\.py):\d+\)")
THREADS = ("run_shift (", "FetchThreadPool._work (", "ArchiveWriter._work (")
PAGES = re.compile(r"([\d,]+) pages in ")
STEPS = "benchmarks.crawling.budget_steps"


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--only", choices=list(SCENES))
    only = reader.parse_args().only
    for name, folder in SCENES.items():
        if only in (None, name):
            if folder.is_dir():
                measure(name, folder)
            else:
                print(f"{name} pages: not measured, {folder} is missing")


def measure(name: str, folder: Path) -> None:
    seed = f"http://127.0.0.1:{SITE_PORT}/"
    with served_folder(folder, SITE_PORT), TemporaryDirectory(prefix="crawlsite-bench-") as state:
        print(f"--- {name} pages: {folder}", flush=True)
        in_database(state, STEPS, "prepare")
        print(in_database(state, STEPS, "crawl", seed), flush=True)
        print_functions(Path(state, "samples"), seed, state)
        print(in_database(state, STEPS, "read"), flush=True)
        print_processes(Path(state, "product"), seed)


def in_database(
    state: str, *module: str, before: Sequence[str] = (), may_fail: bool = False
) -> str:
    """Run a module on servers and tables of its own; returns what it prints."""
    command = [*before, sys.executable, "-m", *module]
    ended = in_services(BASE_DIR, Path(state), command)
    if ended.returncode and not may_fail:
        sys.exit(f"{' '.join(module)} has failed:\n{ended.stdout}{ended.stderr}")
    return ended.stdout.strip()


def print_functions(file: Path, seed: str, state: str) -> None:
    """What our functions take of the interpreter, each with the libraries that it calls."""
    options = ["--gil", "--nonblocking", "--subprocesses", "-f", "raw", "-o", str(file)]
    sampler = [str(Path(sys.executable).with_name("py-spy")), "record", *options]
    sampler += ["-r", str(SAMPLES_A_SECOND), "--"]
    in_database(state, "benchmarks.crawling.speed", seed, before=sampler, may_fail=True)
    if not file.exists():
        print("Functions: not measured, py-spy has failed: it may not look at processes here, say")
        return
    shares = shares_of(file.read_text().splitlines())
    print("Functions that have the interpreter's lock, % of the work process's samples:")
    for function, share in shares.most_common():
        if share >= LEAST_SHARE:
            print(f"{100 * share:10.1f}  {function}")


def shares_of(stacks: Sequence[str]) -> Counter[str]:
    """The share of each of our functions in the samples of a work process: of each stack the
    innermost that is ours. A line has a stack, outermost first, and how often it was met.
    """
    counts: Counter[str] = Counter()
    for line in stacks:
        stack, _, times = line.rpartition(" ")
        ours = OURS.findall(stack)
        if ours and any(thread in stack for thread in THREADS):
            counts["{} ({})".format(*ours[-1])] += int(times)
    total = counts.total()
    return Counter({function: count / total for function, count in counts.items()})


def print_processes(state: Path, seed: str) -> None:
    """What each process of the whole product takes while it crawls."""
    environment = environment_in(str(state))
    with running_product(environment) as product:
        main_process = psutil.Process(product.pid)
        with watched([main_process, *main_process.children(recursive=True)]) as used:
            pages, told = crawl_in_product(environment, [seed])
    total = sum(used.values())
    print(f"In the product, {told}; ms of a processor a page:")
    for title, seconds in used.most_common():
        if seconds >= LEAST_SHARE / 10 * total:
            print(f"{1000 * seconds / pages:10.3f}  {title}")
    print(f"{1000 * total / pages:10.3f}  all processes", flush=True)


def crawl_in_product(environment: dict[str, str], seeds: Sequence[str]) -> tuple[int, str]:
    """Crawl each seed's site in the product that runs in this environment; how many pages it has
    fetched, and the sentence with pages, seconds and pages a second.
    """
    ended = subprocess.run(  # noqa: S603  # ours
        [sys.executable, "-m", STEPS, "watch", *seeds],
        cwd=BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found = PAGES.search(ended.stdout)
    assert found, ended.stdout
    return int(found[1].replace(",", "")), ended.stdout.strip()


@contextmanager
def watched(processes: Sequence[psutil.Process]) -> Iterator[Counter[str]]:
    """Yields what has, after the block, the seconds of a processor by the titles of processes,
    with those of what they started, whether it has ended or not.
    """
    titles = {process.pid: title_of(process) for process in processes}
    before = {process.pid: seconds_of(process) for process in processes}
    used: Counter[str] = Counter()
    yield used
    for process in processes:
        if process.is_running():
            begun = [child for child in process.children() if child.pid not in titles]
            taken = seconds_of(process) - before[process.pid] + sum(map(seconds_of, begun))
            used[titles[process.pid]] += taken  # type: ignore[assignment]


if __name__ == "__main__":
    main()
