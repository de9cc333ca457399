"""Many viewers and a busy program beside crawls at full speed: `python -m
benchmarks.dashboard.viewers [options]`

Starts the whole product in a directory of its own, as `make run` does, with two crawls of a
synthetic web (delay 0). In turn the crawls are measured alone, and beside operators whose pages
refresh every two seconds and a program that sends requests under one token: with the usual limit of
requests, then without one.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

from crawling.machine.priority import lower_session
from crawlsite.env import for_child

PORT = 8790
NO_LIMIT = 1_000_000


@dataclass(frozen=True)
class Size:
    """How many operators and requests a second there are, and how long each part lasts. hosts,
    width: of each crawl's web.
    """

    operators: int
    requests: float
    seconds: float
    hosts: int
    width: int


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--operators", type=int, default=30)
    reader.add_argument("--requests", type=float, default=100, help="of the program, a second")
    reader.add_argument("--seconds", type=float, default=25, help="of each part")
    reader.add_argument("--hosts", type=int, default=8, help="of each crawl")
    reader.add_argument(
        "--width", type=int, default=1500, help="pages a level of the synthetic web"
    )
    reader.add_argument(
        "--limits", type=int, nargs="*", default=[600, NO_LIMIT], help="requests a minute"
    )
    asked = vars(reader.parse_args())
    limits = asked.pop("limits")
    for limit in limits:
        print(f"--- {limit} requests a minute allowed", flush=True)
        measure(Size(**asked), limit)


def measure(size: Size, limit: int) -> None:
    """Print pages a second alone and under load, and what the clients saw."""
    with tempfile.TemporaryDirectory(prefix="crawlsite-bench-") as state:
        environment = environment_in(state, API_REQUESTS_A_MINUTE=str(limit))
        with running_product(environment), served(size) as seeds:
            told = json.dumps({**asdict(size), "port": PORT, "seeds": seeds})
            subprocess.run(  # noqa: S603
                [sys.executable, "-m", "benchmarks.dashboard.scene", told],
                env=environment,
                check=True,
            )


def environment_in(state: str, **others: str) -> dict[str, str]:
    """For a product that has servers of its own and its files in this folder."""
    own = {"STATE_DIR": state, "PORT": str(PORT), "DEMO": "false", "LOG_LEVEL": "WARNING"}
    return for_child({**own, "DATABASE_URL": "", "REDIS_URL": "", **others})


@contextmanager
def running_product(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The supervisor with everything it starts; stopped at the end."""
    command = [sys.executable, "-m", "crawlsite.supervisor"]
    # our own
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as product:  # noqa: S603
        try:
            assert product.stdout
            next(line for line in product.stdout if "ready" in line)
            yield product
        finally:
            product.terminate()
            product.communicate(timeout=30)


@contextmanager
def served(size: Size) -> Iterator[list[list[str]]]:
    """The seeds of two crawls, served by processes of their own."""
    context = get_context("spawn")
    webs = []
    for first_host in (11, 11 + size.hosts):
        ours, theirs = context.Pipe()
        web = context.Process(
            target=serve, args=(theirs, first_host, size.hosts, size.width), daemon=True
        )
        web.start()
        webs.append((web, ours))
    try:
        yield [pipe.recv() for _, pipe in webs]
    finally:
        for web, _ in webs:
            web.terminate()
            web.join()


def serve(pipe: Connection, first_host: int, hosts: int, width: int) -> None:
    """With the priority of what crawls it: elsewhere it would take nothing from those who look at
    pages.
    """
    os.setsid()
    lower_session()
    from tests.webs.synthetic import SyntheticWeb, serve_web

    web = SyntheticWeb(
        first_host, hosts=hosts, width=width, error_percent=0, slow_percent=0, first_host=first_host
    )
    with serve_web(web) as site:
        pipe.send(site.seeds)
        signal.pause()  # until it is terminated


if __name__ == "__main__":
    main()
