"""What a run's processes have now: what they hold of the pool, what they wait for there, and what
their fetch threads are doing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from allocation.models import Process
from allocation.selectors import holdings_of, waits_of
from allocation.snapshot import Holding, WaitRow
from crawling.models import Run, Shift


@dataclass(frozen=True)
class ProcessHoldings:
    """What one of a run's processes holds and waits for."""

    number: int
    process: int
    #: id of the pool, which its page's address has
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


@dataclass(frozen=True)
class FetchThreadRow:
    """One fetch thread."""

    process: int
    number: int
    step: str
    #: empty while it has none
    url: str
    since: datetime


def fetch_threads_of(run: Run) -> list[FetchThreadRow]:
    """As the shifts have last written it down: once a second."""
    shifts = (
        Shift.objects.filter(process__run=run, ended_at=None)
        .order_by("process__number")
        .values_list("process__number", "fetch_threads")
    )
    return [
        FetchThreadRow(process, number, step, url, datetime.fromtimestamp(since, UTC))
        for process, threads in shifts
        for number, step, url, since in threads
    ]


def steps_of(threads: Sequence[FetchThreadRow]) -> list[tuple[str, int]]:
    """How many fetch threads are at each step, the commonest first."""
    return Counter(thread.step for thread in threads).most_common()
