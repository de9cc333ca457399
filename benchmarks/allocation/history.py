"""The time to audit a long ledger, to replay it, to store its checkpoints, to find the pool as of
an event, and to draw its chart.

python -m benchmarks.allocation.history [--events 100000]
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial
from statistics import median

from allocation.history.as_of import bank_as_of
from allocation.history.audit import audit_pool
from allocation.history.chart import SPANS, utilisation_chart
from allocation.history.checkpoints import replayed_state
from allocation.services import keep_checkpoints
from benchmarks.report import Table, options
from benchmarks.scene.database import empty_database
from benchmarks.scene.long_ledger import LongLedger
from benchmarks.timer import Step, chosen_figures, rounds_of

LOOKS = 20


def main() -> None:
    events, table = options(__doc__, events=100_000).events, Table("seconds", "what")

    def tell(what: str, steps: Iterable[Step]) -> None:
        table.row(chosen_figures(median, rounds_of(steps)).clock, what)

    with empty_database():
        ledger = LongLedger("long")
        ledger.write(events)
        pool = ledger.pool.pk
        assert audit_pool(pool).findings == ()
        tell("audit", [partial(audit_pool, pool)])
        tell("follow, without checkpoints", [partial(replayed_state, pool, events)])
        tell("keep its checkpoints", [keep_checkpoints])
        # a random choice of events, without cryptographic use
        versions = random.Random(1).sample(range(1, events), LOOKS)  # noqa: S311
        looks = [partial(bank_as_of, pool, at) for at in versions]
        tell(f"bank as of an event, median of {LOOKS}", looks)
        for span in SPANS:
            tell(f"chart, {span}", [partial(utilisation_chart, pool, span)] * 5)


if __name__ == "__main__":
    main()
