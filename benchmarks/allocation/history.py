"""How long it takes to audit a long ledger, to follow it, to keep its checkpoints, to find the pool
as of an event, and to draw it.

python -m benchmarks.allocation.history [EVENTS]
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import crawlsite.wsgi  # noqa: F401 - sets Django up, before any model is imported
from benchmarks.scene.database import empty_database

LOOKS = 20


def main(events: int) -> None:
    from allocation.history.as_of import bank_as_of
    from allocation.history.audit import audit_pool
    from allocation.history.chart import SPANS, chart_of
    from allocation.history.checkpoints import replayed
    from allocation.services import keep_checkpoints
    from benchmarks.scene.long_ledger import LongLedger

    with empty_database():
        ledger = LongLedger("long")
        ledger.write(events)
        pool = ledger.pool.pk
        assert audit_pool(pool).findings == ()
        tell("audit", timed(lambda: audit_pool(pool)))
        tell("follow, without checkpoints", timed(lambda: replayed(pool, events)))
        tell("keep its checkpoints", timed(keep_checkpoints))
        # a choice of events, no secret
        versions = random.Random(1).sample(range(1, events), LOOKS)  # noqa: S311
        tell(
            f"bank as of an event, median of {LOOKS}",
            median(timed(partial(bank_as_of, pool, at)) for at in versions),
        )
        for span in SPANS:
            tell(f"chart, {span}", median(timed(partial(chart_of, pool, span)) for _ in range(5)))


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def tell(what: str, seconds: float) -> None:
    print(f"{what:54}{seconds:12.3f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
