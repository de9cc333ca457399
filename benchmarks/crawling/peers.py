"""The whole product beside another crawler, in turn, on the same sites:

    python -m benchmarks.crawling.peers URL [URL ...] --rounds 6 --workers 1 \\
        --peer scrapy="/path/to/python /path/to/peer.py {seeds} 16"

Each round starts the product with empty tables, crawls each URL's site by a crawl of its own, with
every default on and a delay of 0, and stops it; then each peer runs alone. In a peer's command
`{seeds}` stands for the URLs, with commas between them, and `{seed}` for the first. Its speed is
the last number that it prints, or else the pages that we found by the time that it took.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.crawling.budget import crawl_in_product
from benchmarks.report import options
from benchmarks.scene.product import environment_in, running_product
from benchmarks.timer import timed

OURS = "crawlsite"
#: other exit statuses mean that pages were missing
FAILED = (1, 2, 126, 127)
RATE = re.compile(r"\d[\d,]*(?:\.\d+)?")


def main() -> None:
    asked = options(__doc__, "seeds", rounds=6, workers=1, peer=[""])
    rates: dict[str, list[float]] = defaultdict(list)
    for number in range(asked.rounds):
        pages, rate = crawl_ourselves(asked.seeds, asked.workers)
        rates[OURS].append(rate)
        for name, _, command in (peer.partition("=") for peer in filter(None, asked.peer)):
            rates[name].append(rate_of(command, asked.seeds, pages))
        latest = ", ".join(f"{name} {found[-1]:.0f}" for name, found in rates.items())
        print(f"round {number + 1}, {pages:,} pages, pages a second: {latest}", flush=True)
    print(f"{OURS}: median {median(rates[OURS]):.0f}")
    for name, found in list(rates.items())[1:]:
        ratios = [ours / its for ours, its in zip(rates[OURS], found, strict=True)]
        print(f"{name}: median {median(found):.0f}; {OURS} is {median(ratios):.2f} times as fast")


def crawl_ourselves(seeds: Sequence[str], workers: int) -> tuple[int, float]:
    """The number of pages, and the pages a second between the first start and the last end."""
    with TemporaryDirectory(prefix="crawlsite-bench-") as state:
        environment = environment_in(state, WORKERS=str(workers))
        with running_product(environment):
            return crawl_in_product(environment, seeds)


def rate_of(command: str, seeds: Sequence[str], pages: int) -> float:
    """Pages a second of another crawler, which runs in an empty folder."""
    whole = command.replace("{seeds}", ",".join(seeds)).replace("{seed}", seeds[0])
    words = shlex.split(whole)
    with TemporaryDirectory(prefix="crawlsite-bench-") as folder, timed() as taken:
        ended = subprocess.run(  # noqa: S603  # named on the command line of this benchmark
            words, cwd=folder, capture_output=True, text=True, check=False
        )
    if ended.returncode in FAILED:
        raise SystemExit(f"{whole}: {ended.stderr}")
    numbers = RATE.findall(ended.stdout)
    return float(numbers[-1].replace(",", "")) if numbers else pages / taken.clock


if __name__ == "__main__":
    main()
