"""What it costs a shift to lease hosts, and a fetch thread to take a turn at an address (decision
29).

    python -m benchmarks.frontier.turns [hosts]

Needs DATABASE_URL, of a database that is migrated; what it writes is rolled back. Times are the
least of fifteen rounds, which what else the machine does disturbs least.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import count

from benchmarks.scene.database import set_up_django

#: what a shift of eight fetch threads leases when it begins, and when hosts leave it one by one
ROUNDS, AT_A_TIME, A_HANDFUL = 15, 160, 8


def main(hosts: int) -> None:
    from django.db import connection, transaction

    from crawling.frontier import Candidate, lease_hosts, locked_run, schedule_urls
    from crawling.frontier.address_clock import take_turn
    from crawling.frontier.leases import count_waiting
    from crawling.models import CrawlJob, Run, RunProcess, Shift
    from crawling.web.addresses import read_address

    with transaction.atomic():
        crawl = CrawlJob.objects.create(
            name="benchmark of turns", seeds=[], delay_seconds=1, batch_size=100, claim={}
        )
        run = Run.objects.create(crawl=crawl, number=1)
        shift = Shift.objects.create(
            process=RunProcess.objects.create(run=run, number=0), epoch=1, worker="benchmark"
        )
        with locked_run(run.pk):
            schedule_urls(
                run,
                [
                    Candidate(read_address(f"http://h{number}.test/"), 0, None)
                    for number in range(hosts)
                ],
                numbers=[0],
            )
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE crawling_host, crawling_hostqueue")
        numbers = count()

        def lease(most: int) -> None:
            assert (
                len(
                    lease_hosts(
                        shift, limit=most, soon_seconds=2.0, delay_seconds=1.0, lease_seconds=60.0
                    )
                )
                == most
            )

        for most in (AT_A_TIME, A_HANDFUL):
            best = _best(partial(lease, most))
            print(
                f"lease {most} of {hosts:,} hosts {1e3 * best:8.2f} ms, {1e6 * best / most:.1f} "
                "µs a host"
            )
        lease(AT_A_TIME)
        print(
            f"count {A_HANDFUL} that wait while {AT_A_TIME} are leased "
            f"{1e3 * _best(lambda: count_waiting(shift, most=A_HANDFUL)):8.2f} ms"
        )
        take_turn("192.0.2.1", 0.0)
        print(
            "a turn at an address that has a clock "
            f"{1e6 * _best(lambda: take_turn('192.0.2.1', 0.0)):8.0f} µs"
        )
        fresh = _best(lambda: take_turn(f"2001:db8::{next(numbers):x}", 1.0))
        print(f"a turn at an address that has none yet {1e6 * fresh:7.0f} µs")
        transaction.set_rollback(True)


def _best(step: Callable[[], object]) -> float:
    """The least of what it takes, each time undone."""
    from django.db import transaction

    taken = []
    for _ in range(ROUNDS):
        with transaction.atomic():
            began = time.perf_counter()
            step()
            taken.append(time.perf_counter() - began)
            transaction.set_rollback(True)
    return min(taken)


if __name__ == "__main__":
    set_up_django()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
