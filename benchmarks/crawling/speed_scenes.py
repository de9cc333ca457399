"""Pages a second of two scenes, least and median of several runs: `python -m
benchmarks.crawling.speed_scenes [--runs 6] [--against CHECKOUT] [--only rust|light]
[--max-pages 8000]`

Rust's manual (Debian's package rust-doc) on one host, and ten hosts of light pages; each by one
worker, with every default on and a delay of 0. A run is a process of its own,
`benchmarks.crawling.speed`, with servers and a state directory of its checkout. With another
checkout the two take turns, so that what else the machine does falls on both; quote the ratio of
the medians.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.report import options
from benchmarks.scene.database import on_own_servers
from benchmarks.scene.sites import served_folder, served_webs
from benchmarks.timer import in_turn
from crawlsite.env import BASE_DIR
from tests.webs.synthetic import SyntheticWeb

RUST = Path("/usr/share/doc/rust-doc/html")
RUST_PORT = 8914
#: most pages of the manual are short, except the first few thousand
RUST_PAGES = 8_000
LIGHT_HOSTS = 10
#: pages a level and host, some 6,000 in total
LIGHT_WIDTH = 120
WEB = SyntheticWeb(
    1, hosts=LIGHT_HOSTS, width=LIGHT_WIDTH, error_percent=0, slow_percent=0, first_host=111
)
#: a run below this part of the median is a fault of ours, and not of the machine
LEAST_OF_MEDIAN = 0.9
SAID = re.compile(r"^ *([0-9.,]+) +(pages a second|ms a page in all)$", re.MULTILINE)
Speeds = dict[Path, list[tuple[float, float]]]


def main() -> None:
    asked = options(__doc__, runs=6, against="", only="", max_pages=RUST_PAGES)
    checkouts = [BASE_DIR, *([Path(asked.against).resolve()] if asked.against else [])]
    if asked.only != "light":
        if RUST.is_dir():
            with served_folder(RUST, RUST_PORT):
                seed = f"http://127.0.0.1:{RUST_PORT}/"
                words = ["--max-pages", str(asked.max_pages), seed]
                tell("Rust's manual, one host", checkouts, asked.runs, words)
        else:
            print(f"Rust's manual: not measured, {RUST} is missing: apt-get install rust-doc")
    if asked.only != "rust":
        with served_webs(WEB) as (seeds,):
            tell(f"light pages, {LIGHT_HOSTS} hosts", checkouts, asked.runs, seeds)


def tell(scene: str, checkouts: Sequence[Path], runs: int, words: Sequence[str]) -> None:
    """Measure a scene with alternating checkouts, and print the speeds of each."""
    speeds: Speeds = {checkout: [] for checkout in checkouts}
    with TemporaryDirectory() as folder:
        for number, checkout in in_turn(checkouts, runs + 1):
            speed = one_run(checkout, Path(folder, str(checkouts.index(checkout))), words)
            if number:  # the first run creates the tables and fills the caches
                speeds[checkout].append(speed)
    for checkout, found in speeds.items():
        print(f"{scene}, {checkout.name}: {summary(found)}", flush=True)
    if len(checkouts) > 1:
        new, old = (median(pages for pages, _ in speeds[checkout]) for checkout in checkouts)
        print(f"{scene}: {new / old:.2f} times the pages a second", flush=True)


def summary(speeds: Sequence[tuple[float, float]]) -> str:
    """The least and the median speed, and whether they are too far apart."""
    pages, spent = zip(*speeds, strict=True)
    middle, least = median(pages), min(pages)
    told = (
        f"{middle:.0f} pages a second (median of {len(pages)}), {least:.0f} at least, "
        f"{median(spent):.2f} ms of the processor a page"
    )
    return told + (
        f"; a run below {LEAST_OF_MEDIAN} of the median" if least < LEAST_OF_MEDIAN * middle else ""
    )


def one_run(checkout: Path, state: Path, words: Sequence[str]) -> tuple[float, float]:
    """Pages a second, and milliseconds of a processor a page."""
    python = str(checkout / ".venv/bin/python")
    command = [python, "-m", "benchmarks.crawling.speed", *words]
    ended = on_own_servers(state, *command, checkout=checkout)
    said = {name: float(value.replace(",", "")) for value, name in SAID.findall(ended.stdout)}
    if ended.returncode or len(said) < 2:
        sys.exit(f"A run of {checkout} has failed:\n{ended.stdout}{ended.stderr}")
    return said["pages a second"], said["ms a page in all"]


if __name__ == "__main__":
    main()
