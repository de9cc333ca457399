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
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.scene.database import on_own_servers
from benchmarks.scene.product import environment_in, running_product, title_of
from benchmarks.scene.sites import served_folder
from benchmarks.timer import family, seconds_of
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
PAGES = re.compile(r"([\d,]+) pages in .* (\d+) a second")
STEPS = [sys.executable, "-m", "benchmarks.crawling.budget_steps"]


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
        run_step(state, *STEPS, "prepare")
        print(run_step(state, *STEPS, "crawl", seed), flush=True)
        print_functions(Path(state, "samples"), seed, state)
        print(run_step(state, *STEPS, "read"), flush=True)
        print_processes(str(Path(state, "product")), seed)


def run_step(state: str, *command: str, may_fail: bool = False) -> str:
    """Run a command on servers and tables of its own; returns what it prints."""
    ended = on_own_servers(state, *command)
    if ended.returncode and not may_fail:
        sys.exit(f"{' '.join(command)} has failed:\n{ended.stdout}{ended.stderr}")
    return ended.stdout.strip()


def print_functions(file: Path, seed: str, state: str) -> None:
    """What our functions take of the interpreter, each with the libraries that it calls."""
    options = ["--gil", "--nonblocking", "--subprocesses", "-f", "raw", "-o", str(file)]
    sampler = [str(Path(sys.executable).with_name("py-spy")), "record", *options]
    crawl = [sys.executable, "-m", "benchmarks.crawling.speed", seed]
    run_step(state, *sampler, "-r", str(SAMPLES_A_SECOND), "--", *crawl, may_fail=True)
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


def print_processes(state: str, seed: str) -> None:
    """What each process of the whole product takes while it crawls, with all that it starts."""
    environment = environment_in(state)
    used: Counter[str] = Counter()
    with running_product(environment) as product:
        before = {process: seconds_of(process) for process in family(product.pid)}
        titles = {process: title_of(process) for process in before}
        pages, rate = crawl_in_product(environment, [seed])
        for process in filter(lambda each: each.is_running(), before):
            begun = [child for child in process.children() if child not in before]
            taken = seconds_of(process) - before[process] + sum(map(seconds_of, begun))
            used[titles[process]] += taken  # type: ignore[assignment]
    total = used.total()
    print(f"In the product, {pages:,} pages, {rate} a second; ms of a processor a page:")
    for title, seconds in used.most_common():
        if seconds >= LEAST_SHARE / 10 * total:
            print(f"{1000 * seconds / pages:10.3f}  {title}")
    print(f"{1000 * total / pages:10.3f}  all processes", flush=True)


def crawl_in_product(environment: Mapping[str, str], seeds: Sequence[str]) -> tuple[int, float]:
    """Crawl each seed's site in the product that runs in this environment: how many pages it has
    fetched, and how many a second from the first start to the last end.
    """
    ended = subprocess.run(  # noqa: S603  # ours
        [*STEPS, "watch", *seeds],
        cwd=BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found = PAGES.search(ended.stdout)
    assert found, ended.stdout
    return int(found[1].replace(",", "")), float(found[2])


if __name__ == "__main__":
    main()
