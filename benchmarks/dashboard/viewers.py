"""Many viewers and a busy program beside crawls at full speed: `python -m
benchmarks.dashboard.viewers [--operators 30 --requests 100 --seconds 25 --hosts 8 --width 1500
--limits 600 1000000]`

Starts the whole product in a directory of its own, as `make run` does, with two crawls of a
synthetic web (delay 0). In turn the crawls are measured alone, and beside operators whose pages
refresh every two seconds and a program that sends requests under one token: with the usual limit of
requests, then without one.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import mean
from tempfile import TemporaryDirectory

from django.contrib.auth.models import Group, User
from django.test import Client

from allocation.models import Pool
from benchmarks.dashboard.clients import Report, Scene, load
from benchmarks.report import options
from benchmarks.scene.crawls import (
    allow_loopback,
    await_full_speed,
    begin_crawl,
    busy_webs,
    fetched_count,
)
from benchmarks.scene.database import on_own_servers
from benchmarks.scene.product import PORT, Product, environment_at_hand, running_product
from crawling.models import Run
from crawlsite.tokens import make_token

NO_LIMIT = 1_000_000
#: the number of parts alone and under load, in turn, since a crawl's rate changes over time
ROUNDS = 2


def main() -> None:
    asked = options(
        __doc__,
        **{"operators": 30, "requests": 100.0, "seconds": 25.0, "hosts": 8, "width": 1500},
        **{"limits": [600, NO_LIMIT], "here": False},
    )
    for limit in asked.limits:
        if asked.here:
            measure(asked, limit)
            continue
        print(f"--- {limit} requests a minute allowed", flush=True)
        again = [sys.executable, "-m", "benchmarks.dashboard.viewers", *sys.argv[1:]]
        again += ["--limits", str(limit), "--here"]
        with TemporaryDirectory(prefix="crawlsite-bench-") as state:
            on_own_servers(state, *again, is_told=True).check_returncode()


def measure(asked: argparse.Namespace, limit: int) -> None:
    """Print pages a second alone and under load, and the results of the clients."""
    environment = environment_at_hand(API_REQUESTS_A_MINUTE=str(limit))
    with running_product(environment) as product, busy_webs(asked.hosts, asked.width) as webs:
        allow_loopback()
        runs = [begin_crawl(f"crawl {number}", seeds) for number, seeds in enumerate(webs)]
        play(product, runs, scene_of(asked, runs))


def play(product: Product, runs: Sequence[Run], scene: Scene) -> None:
    keys = [run.pk for run in runs]
    await_full_speed(keys)
    report, rates = Report(), list[float]()

    def alone() -> None:
        # the figure is the number of pages fetched in the same time as under load
        time.sleep(scene.seconds)

    parts = {"alone": alone, "under load": lambda: load(scene, report)}
    for name, part in [*parts.items()] * ROUNDS:
        before = product.totals(within=os.getppid())
        rates.append(pages_a_second(keys, part))
        report_cores(name, scene.seconds, before, product.totals(within=os.getppid()))
    usual, loaded = mean(rates[::2]), mean(rates[1::2])
    print(
        f"crawls: {usual:.0f} pages/s alone, {loaded:.0f} under load "
        f"({100 * loaded / max(usual, 1):.0f} %); in turn {', '.join(f'{r:.0f}' for r in rates)}"
    )
    print("\n".join(report.lines()), flush=True)


def scene_of(asked: argparse.Namespace, runs: Sequence[Run]) -> Scene:
    """A session for each operator, and a token for the program."""
    crawls = [run.crawl_id for run in runs]
    pages = ["/", "/crawls/", *(f"/crawls/{crawl}/" for crawl in crawls)]
    pages.append(f"/resources/{Pool.objects.get().pk}/")
    paths = ["/api/v1/crawls", f"/api/v1/crawls/{crawls[0]}", "/api/v1/pools"]
    cookies, client = [], Client()
    for number in range(asked.operators):
        client.force_login(_operator(f"operator{number}"))
        cookies.append(f"sessionid={client.cookies['sessionid'].value}")
        client.cookies.clear()
    token = make_token(_operator("program"), "load")
    return Scene(PORT, pages, cookies, token, paths, asked.requests, asked.seconds)


def _operator(name: str) -> User:
    user = User.objects.create_user(name)
    user.groups.add(Group.objects.get(name="operator"))
    return user


def pages_a_second(runs: Sequence[int], during: Callable[[], None]) -> float:
    """The rate at which these runs fetch during a block."""
    before, began = fetched_count(runs), time.monotonic()
    during()
    return (fetched_count(runs) - before) / (time.monotonic() - began)


def report_cores(name: str, seconds: float, before: Counter[str], after: Counter[str]) -> None:
    """Print the number of cores that each kind of program used meanwhile."""
    cores = {kind: (after[kind] - before[kind]) / seconds for kind in after}
    told = ", ".join(f"{kind} {share:.2f}" for kind, share in sorted(cores.items()))
    print(f"cores {name}: {told}", flush=True)


if __name__ == "__main__":
    main()
