"""What a run's processes hold of the bank, and what they wait for there."""

from __future__ import annotations

from dataclasses import dataclass

from allocation.models import Process
from allocation.selectors import holdings_of, waits_of
from allocation.snapshot import Holding, WaitRow
from crawling.models import Run


@dataclass(frozen=True)
class Dealings:
    """One of a run's processes in the bank; `pool` is that of its page."""

    number: int
    pool: int
    bypass_limit: int
    holdings: list[Holding]
    wait: WaitRow | None


def dealings_of(run: Run) -> list[Dealings]:
    """The run's processes that hold or wait for something."""
    rows = (
        Process.objects.filter(run_process__run=run)
        .order_by("run_process__number")
        .values_list("pk", "run_process__number", "pool", "pool__bypass_limit")
    )
    processes = {pk: facts for pk, *facts in rows}
    holdings, waits = holdings_of(processes), waits_of(processes)
    return [Dealings(*row, holdings.get(pk, []), waits.get(pk)) for pk, row in processes.items() if pk in holdings or pk in waits]
