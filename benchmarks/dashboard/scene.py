"""The scene of `benchmarks.dashboard.viewers`, in a process with the product's settings: two
crawls, in turn alone and beside clients.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from statistics import mean
from typing import Any

import psutil

from benchmarks.dashboard.clients import Report, Scene, load
from benchmarks.dashboard.crawls_beside import await_full_speed, fetched
from benchmarks.scene.database import set_up_django

#: parts alone and under load, in turn: a crawl's rate changes while it goes on
ROUNDS = 2
#: kinds of programs, by what stands in their command lines
KINDS = {
    "web": "gunicorn",
    "workers, background jobs": "rq:worker",
    "scheduler": "manage.py scheduler",
    "preresolver": "resolve_ahead",
    "PostgreSQL": "postgres",
    "Redis": "valkey",
    "clients": "benchmarks.dashboard.scene",
    "crawled web": "spawn_main",
}


def main() -> None:
    from crawling.models import Run

    told = json.loads(sys.argv[1])
    scene = begin(told)
    runs = list(Run.objects.values_list("pk", flat=True))
    await_full_speed(runs)
    looks, report = [spending()], Report()
    rates = []

    def alone() -> None:
        # the figure is what the crawls fetch in as long a time as the load beside them takes
        time.sleep(scene.seconds)

    for part in (alone, lambda: load(scene, report)) * ROUNDS:
        rates.append(pages_a_second(runs, part))
        looks.append(spending())
    report_spending(scene.seconds, looks)
    usual, loaded = mean(rates[::2]), mean(rates[1::2])
    print(
        f"crawls: {usual:.0f} pages/s alone, {loaded:.0f} under load "
        f"({100 * loaded / max(usual, 1):.0f} %); in turn {', '.join(f'{r:.0f}' for r in rates)}"
    )
    for line in report.lines():
        print(line, flush=True)


def begin(told: dict[str, Any]) -> Scene:
    """Two crawls that run, a session for each operator, a program's token."""
    from django.contrib.auth.models import Group, User
    from django.test import Client

    from allocation.models import Pool
    from crawling.models import AllowedNetwork
    from crawling.runs.crawls.creation import create_crawl
    from crawling.runs.start import start_run
    from crawlsite.tokens import make_token

    AllowedNetwork.objects.get_or_create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    crawls = [
        create_crawl({"name": f"crawl {number}", "seeds": seeds, "delay_seconds": 0})
        for number, seeds in enumerate(told["seeds"])
    ]
    for crawl in crawls:
        start_run(crawl)
    pages = [
        "/",
        "/crawls/",
        *(f"/crawls/{crawl.pk}/" for crawl in crawls),
        f"/resources/{Pool.objects.get().pk}/",
    ]
    group, cookies = Group.objects.get(name="operator"), []
    for number in range(told["operators"]):
        user = User.objects.create_user(f"operator{number}")
        user.groups.add(group)
        client = Client()
        client.force_login(user)
        cookies.append(f"sessionid={client.cookies['sessionid'].value}")
    program = User.objects.create_user("program")
    program.groups.add(group)
    paths = ["/api/v1/crawls", f"/api/v1/crawls/{crawls[0].pk}", "/api/v1/pools"]
    return Scene(
        told["port"],
        pages,
        cookies,
        make_token(program, "load"),
        paths,
        told["requests"],
        told["seconds"],
    )


def pages_a_second(runs: list[int], during: Callable[[], None]) -> float:
    """What these runs fetch while something goes on."""
    before, began = fetched(runs), time.monotonic()
    during()
    return (fetched(runs) - before) / (time.monotonic() - began)


def spending() -> dict[str, float]:
    """Seconds of the processor so far, by kind of program, of all that the benchmark runs."""
    spent: defaultdict[str, float] = defaultdict(float)
    for process in psutil.Process(os.getppid()).children(recursive=True):
        with suppress(psutil.Error):  # it has ended meanwhile
            words, times = " ".join(process.cmdline()), process.cpu_times()
            kind = next((kind for kind, sign in KINDS.items() if sign in words), "others")
            spent[kind] += times.user + times.system + times.children_user + times.children_system
    return spent


def report_spending(seconds: float, looks: list[dict[str, float]]) -> None:
    """Print the cores that each kind of program took, between one look and the next."""
    names = ("alone", "under load") * ROUNDS
    for before, after, name in zip(looks, looks[1:], names, strict=False):
        cores = {kind: (after[kind] - before.get(kind, 0.0)) / seconds for kind in after}
        told = ", ".join(f"{kind} {share:.2f}" for kind, share in sorted(cores.items()))
        print(f"cores {name}: {told}")


if __name__ == "__main__":
    set_up_django()
    main()
