"""The price of safety: a grant and its release, with their ledger, against a bare locked counter.

    python -m benchmarks.allocation.price [--quick]

Needs DATABASE_URL, of a database of its own that is migrated; it writes pools that stay. `make
bench` brings one whose commits are real.

The counter is one row and one number: `UPDATE counter SET available = available - r WHERE available
>= r`, and back. Both sides go through Django's cursor on one connection a client, each call a
transaction of its own, in alternating runs.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from os import getloadavg
from statistics import median, quantiles
from typing import NamedTuple
from uuid import uuid4

from django.db import connection

from allocation.models import Conservation, Process
from allocation.services import (
    NewClass,
    create_pool,
    register_process,
    release_resources,
    request_resources,
)
from benchmarks.report import Table, options
from benchmarks.scene.database import execute
from benchmarks.timer import in_turn

COUNTER = (
    "CREATE TABLE IF NOT EXISTS bench_counter "
    "(id int PRIMARY KEY, available int NOT NULL) WITH (fillfactor = 50)",
    "INSERT INTO bench_counter VALUES (1, 1000000) ON CONFLICT DO NOTHING",
)
CHANGE = "UPDATE bench_counter SET available = available - %s WHERE id = 1 AND available >= %s"
HOLDERS = 100
Pair = Callable[[], None]


class Scale(NamedTuple):
    """The size of a scene. If units are scarce, a grant depends on the releases of holders, so the
    services must examine all holders.
    """

    commits: str
    clients: int = 1
    registered: int = 100
    classes: int = 10
    scarce: bool = False


class Figures(NamedTuple):
    """The milliseconds of a pair, and the transactions a second, of which each pair has two."""

    p50: float
    p99: float
    per_second: float


def counter() -> Pair:
    """A table with one row. A pair takes a unit and gives it back."""
    execute(*COUNTER)

    def change(units: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(CHANGE, [units, units])
            assert cursor.rowcount == 1

    def pair() -> None:
        change(1)
        change(-1)

    return pair


def shifts(process: int, keys: Sequence[str]) -> Pair:
    """A start, and the release that ends its shift."""
    units = dict.fromkeys(keys, 1)

    def pair() -> None:
        outcome = request_resources(process=process, amounts=units, request_id=uuid4())
        assert outcome.granted
        assert outcome.epoch is not None
        release_resources(process=process, epoch=outcome.epoch, release_id=uuid4(), amounts=None)

    return pair


def fill(scale: Scale) -> tuple[list[int], list[str]]:
    """A pool with `registered` processes, some of which hold units. Return the clients' processes
    and the classes.
    """
    keys = [f"c{j}" for j in range(scale.classes)]
    holding, clients = min(HOLDERS, scale.registered), scale.clients
    capacity = holding + 9 + clients if scale.scarce else 20 * (holding + clients)
    classes = [NewClass(key, "unit", "", capacity) for key in keys]
    pool = create_pool(name=str(uuid4()), classes=classes)

    def register(label: str, claim: int) -> int:
        claims = dict.fromkeys(keys, claim)
        return register_process(pool=pool.pk, label=label, run_ref="", maximum=claims).pk

    for i in range(holding):
        holder, one = register(f"holder {i}", 10), dict.fromkeys(keys, 1)
        assert request_resources(process=holder, amounts=one, request_id=uuid4()).granted
    rows = {"max_claim": [10] * scale.classes, "allocated": [0] * scale.classes}
    idle = [Process(pool=pool, label="idle", run_ref="", **rows)] * (scale.registered - holding)
    Process.objects.bulk_create(idle, batch_size=1000)
    claim = capacity - holding + 1 if scale.scarce else 10
    return [register("asker", claim) for _ in range(clients)], keys


def client(
    commits: str,
    make: Callable[[], Pair],
    seconds: float,
    barrier: Barrier,
    found: Queue[list[float]],
) -> None:
    """One client: a process with its own connection."""
    execute(f"SET synchronous_commit = {'on' if commits == 'real' else 'off'}")
    pair, taken = make(), []
    for _ in range(20):
        pair()
    barrier.wait()
    end = time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
        pair()
        taken.append((time.perf_counter() - begin) * 1000)
    found.put(taken)


def run(commits: str, makes: Sequence[Callable[[], Pair]], seconds: float) -> Figures:
    """Run all clients together."""
    fork = multiprocessing.get_context("fork")
    barrier, found = fork.Barrier(len(makes)), fork.Queue()
    connection.close()
    clients = [
        fork.Process(target=client, args=(commits, make, seconds, barrier, found)) for make in makes
    ]
    for each in clients:
        each.start()
    taken = [one for _ in clients for one in found.get()]
    for each in clients:
        each.join()
    return Figures(median(taken), quantiles(taken, n=100)[98], 2 * len(taken) / seconds)


def measured(scale: Scale, rounds: int, seconds: float) -> dict[str, Figures]:
    """The bare counter and the pool, measured in alternating runs. The median run of each counts,
    since a neighbour that works for a while spoils only some runs.
    """
    askers, keys = fill(scale)
    sides: dict[str, list[Callable[[], Pair]]] = {
        "counter": [counter] * scale.clients,
        "bank, by the services" if scale.scarce else "bank": [
            partial(shifts, asker, keys) for asker in askers
        ],
    }
    runs: dict[str, list[Figures]] = defaultdict(list)
    for _, what in in_turn(sides, rounds):
        runs[what].append(run(scale.commits, sides[what], seconds))
    return {what: Figures(*map(median, zip(*runs[what], strict=True))) for what in sides}


def plan(*, is_quick: bool) -> Iterator[Scale]:
    for commits in ("real", "not waited for"):
        yield Scale(commits)
        yield Scale(commits, scarce=True)
        yield from (Scale(commits, clients) for clients in (4, 8))
    if not is_quick:
        yield from (Scale(commits, registered=registered) for registered in (10, 1_000, 10_000))
        yield from (Scale(commits, classes=classes) for classes in (1, 50))


def main() -> None:
    is_quick = options(__doc__, quick=False).quick
    print("a pair is a grant and its release, and two transactions; times of a pair in ms")
    table = Table("clients", "n", "m", "p50", "p99", "tx/s", "price", "what")
    for scale in plan(is_quick=is_quick):
        found = measured(scale, *((3, 1.0) if is_quick else (5, 2.0)))
        for what, each in found.items():
            price = f"{each.p50 / found['counter'].p50:.2f}x"
            sizes = (scale.clients, scale.registered, scale.classes)
            table.row(*sizes, *each, price, f"{what}, commits {scale.commits}")
    lost = Conservation.objects.exclude(difference=0, ungranted=0).count()
    print(f"units lost in {lost} classes; load {getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
