"""What a run's processes hold of the bank, and what they wait for there."""

from __future__ import annotations

from dataclasses import dataclass

from allocation.models import Process
from allocation.selectors import holdings_of, waits_of
from allocation.snapshot import Holding, WaitRow
from crawling.models import Run


@dataclass(frozen=True)
class ProcessHoldings:
    """One of a run's processes in the bank; `pool` is that of its page."""

    number: int
    process: int
    pool: int
    bypass_limit: int
    holdings: list[Holding]
    wait: WaitRow | None


def dealings_of(run: Run) -> list[ProcessHoldings]:
    """The run's processes that hold or wait for something."""
    own = Process.objects.filter(run_process__run=run).order_by("run_process__number")
    rows = list(own.values_list("pk", "run_process__number", "pool", "pool__bypass_limit"))
    holdings, waits = holdings_of(pk for pk, *_ in rows), waits_of(pk for pk, *_ in rows)
    return [
        ProcessHoldings(number, pk, pool, limit, holdings.get(pk, []), waits.get(pk))
        for pk, number, pool, limit in rows
        if pk in holdings or pk in waits
    ]
