"""What it costs to ask whether a URL was seen, and whether a Bloom filter in front of the question
would pay (decision 19).

    python -m benchmarks.frontier.seen [urls]

Needs DATABASE_URL, of a database of its own that is migrated; what it writes is rolled back. Times
are the least of fifteen rounds, which what else the machine does disturbs least.
"""

from __future__ import annotations

import sys
import time

from benchmarks.scene.database import set_up_django

LINKS, ROUNDS = 2_000, 15


def main(urls: int) -> None:
    from django.db import transaction

    from benchmarks.frontier.link_batches import Sowings

    with transaction.atomic():
        for what, prepare in Sowings(urls, LINKS).steps():
            taken = []
            for _ in range(ROUNDS):
                step = prepare()
                began = time.perf_counter()
                step()
                taken.append(time.perf_counter() - began)
            print(f"{what:34} {min(taken) / LINKS * 1e6:8.2f} µs a link")
        transaction.set_rollback(True)


if __name__ == "__main__":
    set_up_django()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
