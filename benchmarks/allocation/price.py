"""The price of safety: a grant and its release, with their ledger, against a bare locked counter.

    python -m benchmarks.allocation.price [--quick]

Needs DATABASE_URL, of a database of its own that is migrated; it writes pools that stay. `make
bench` brings one whose commits are real. Prints a table, and the same as JSON in the last line.

The counter is one row and one number: `UPDATE counter SET available = available - r WHERE available
>= r`, and back. Both sides go through Django's cursor on one connection a client, each call a
transaction of its own, in alternating runs.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from os import getloadavg
from statistics import median, quantiles
from uuid import uuid4

from benchmarks.scene.database import set_up_django

Pair = Callable[[], None]


@dataclass(frozen=True)
class Figures:
    """Of one kind of pair: a grant with its release.

    Times in milliseconds; a second holds two transactions a pair.
    """

    what: str
    commits: str
    clients: int
    registered: int
    classes: int
    p50: float
    p99: float
    per_second: float


def counter() -> Pair:
    """A table of one row; its pair takes a unit and gives it back."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS bench_counter (id int PRIMARY KEY, available int NOT "
            "NULL) WITH (fillfactor = 50)"
        )
        cursor.execute("INSERT INTO bench_counter VALUES (1, 1000000) ON CONFLICT DO NOTHING")

    def change(units: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE bench_counter SET available = available - %s WHERE id = 1 "
                "AND available >= %s",
                [units, units],
            )
            assert cursor.rowcount == 1

    def pair() -> None:
        change(1)
        change(-1)

    return pair


def shifts(process: int, keys: list[str]) -> Pair:
    """A start and the release that ends its shift."""
    from allocation.services import release_resources, request_resources

    units = dict.fromkeys(keys, 1)

    def pair() -> None:
        outcome = request_resources(process=process, amounts=units, request_id=uuid4())
        assert outcome.granted
        assert outcome.epoch is not None
        release_resources(process=process, epoch=outcome.epoch, release_id=uuid4(), amounts=None)

    return pair


def fill(
    registered: int, classes: int, clients: int, *, holders: int = 100, scarce: bool = False
) -> tuple[list[int], list[str]]:
    """A pool with so many processes registered, of which some hold; returns the clients' processes
    and the classes.

    Where units are scarce a grant rests on what the holders give back, so that the services must
    look at all of them.
    """
    from allocation.models import Process
    from allocation.services import NewClass, create_pool, register_process, request_resources

    keys = [f"c{j}" for j in range(classes)]
    holding = min(holders, registered)
    capacity = holding + 9 + clients if scarce else 20 * (holding + clients)
    pool = create_pool(
        name=str(uuid4()), classes=[NewClass(key, "unit", "", capacity) for key in keys]
    )
    for i in range(holding):
        process = register_process(
            pool=pool.pk, label=f"holder {i}", run_ref="", maximum=dict.fromkeys(keys, 10)
        )
        assert request_resources(
            process=process.pk, amounts=dict.fromkeys(keys, 1), request_id=uuid4()
        ).granted
    idle = [
        Process(
            pool=pool, label="idle", run_ref="", max_claim=[10] * classes, allocated=[0] * classes
        )
    ] * (registered - holding)
    Process.objects.bulk_create(idle, batch_size=1000)
    claim = capacity - holding + 1 if scarce else 10
    askers = [
        register_process(
            pool=pool.pk, label="asker", run_ref="", maximum=dict.fromkeys(keys, claim)
        )
        for _ in range(clients)
    ]
    return [asker.pk for asker in askers], keys


def client(
    commits: str, make: Callable[[], Pair], seconds: float, barrier: object, found: object
) -> None:
    """One client: a process with a connection of its own."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"SET synchronous_commit = {'on' if commits == 'real' else 'off'}")
    pair, taken = make(), []
    for _ in range(20):
        pair()
    barrier.wait()  # type: ignore[attr-defined]
    end = time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
        pair()
        taken.append((time.perf_counter() - begin) * 1000)
    found.put(taken)  # type: ignore[attr-defined]


def run(commits: str, makes: list[Callable[[], Pair]], seconds: float) -> tuple[list[float], float]:
    """How long each pair took, of all clients together, and how many there were a second."""
    fork = multiprocessing.get_context("fork")
    barrier, found = fork.Barrier(len(makes)), fork.Queue()
    from django.db import connection

    connection.close()
    clients = [
        fork.Process(target=client, args=(commits, make, seconds, barrier, found)) for make in makes
    ]
    for each in clients:
        each.start()
    taken = [one for _ in clients for one in found.get()]
    for each in clients:
        each.join()
    return taken, len(taken) / seconds


def measured(
    commits: str,
    registered: int,
    classes: int,
    clients: int,
    *,
    rounds: int,
    seconds: float,
    scarce: bool = False,
) -> list[Figures]:
    """The bare counter and the pool in alternating runs."""
    askers, keys = fill(registered, classes, clients, scarce=scarce)
    sides: dict[str, list[Callable[[], Pair]]] = {
        "counter": [counter] * clients,
        "bank, by the services" if scarce else "bank": [
            partial(shifts, asker, keys) for asker in askers
        ],
    }
    taken: dict[str, list[tuple[list[float], float]]] = {what: [] for what in sides}
    for _ in range(rounds):
        for what, makes in sides.items():
            taken[what].append(run(commits, makes, seconds))
    return [
        figures(what, runs, commits, clients, registered, classes) for what, runs in taken.items()
    ]


def figures(
    what: str,
    runs: list[tuple[list[float], float]],
    commits: str,
    clients: int,
    registered: int,
    classes: int,
) -> Figures:
    """Of the run in the middle: a neighbour that came and went spoils only some."""
    p50 = median(median(taken) for taken, _ in runs)
    p99 = median(quantiles(taken, n=100)[98] for taken, _ in runs)
    rate = median(rate for _, rate in runs)
    return Figures(
        what,
        commits,
        clients,
        registered,
        classes,
        round(p50, 3),
        round(p99, 3),
        round(2 * rate, 1),
    )


def plan(*, is_quick: bool) -> Iterator[tuple[tuple[str, int, int, int], bool]]:
    """What to measure: commits, registered, classes, clients; and whether units are scarce."""
    for commits in ("real", "not waited for"):
        yield (commits, 100, 10, 1), False
        yield (commits, 100, 10, 1), True
        for clients in (4, 8):
            yield (commits, 100, 10, clients), False
    if is_quick:
        return
    for registered in (10, 1_000, 10_000):
        yield ("not waited for", registered, 10, 1), False
    for classes in (1, 50):
        yield ("not waited for", 100, classes, 1), False


def main(*, is_quick: bool) -> None:
    from allocation.models import Conservation

    rounds, seconds = (3, 1.0) if is_quick else (5, 2.0)
    print(
        f"load {getloadavg()[0]:.1f}; a pair is a grant and its release, and two transactions; "
        "times of a pair in ms"
    )
    print(
        f"{'commits':16}{'clients':>8}{'n':>7}{'m':>4}  "
        f"{'what':22}{'p50':>9}{'p99':>9}{'tx/s':>9}{'price':>8}"
    )
    found = []
    for (commits, registered, classes, clients), scarce in plan(is_quick=is_quick):
        two = measured(
            commits, registered, classes, clients, rounds=rounds, seconds=seconds, scarce=scarce
        )
        found += two
        for one in two:
            price = f"{one.p50 / two[0].p50:7.2f}x"
            sizes = f"{one.clients:8}{one.registered:7,}{one.classes:4}"
            print(
                f"{one.commits:16}{sizes}  "
                f"{one.what:22}{one.p50:9.3f}{one.p99:9.3f}{one.per_second:9,.0f}{price}",
                flush=True,
            )
    lost = Conservation.objects.exclude(difference=0, ungranted=0).count()
    print(f"units lost in {lost} classes; load {getloadavg()[0]:.1f}")
    print(json.dumps([asdict(one) for one in found]))


if __name__ == "__main__":
    set_up_django()
    main(is_quick="--quick" in sys.argv[1:])
