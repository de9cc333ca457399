"""What a run's processes have now: what they hold of the pool, what they wait for there, and what
their fetch threads are doing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from allocation.models import Process
from allocation.selectors import holdings_of, waits_of
from allocation.snapshot import Holding, WaitRow
from crawling.models import Run, RunProcess, Shift


@dataclass(frozen=True)
class ResourceHolder:
    """Who holds what is short."""

    label: str
    #: id of its crawl; None: no crawl, such as the DNS resolver
    crawl: int | None


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
    #: of what it waits for, each once
    holders: tuple[ResourceHolder, ...] = ()


def dealings_of(run: Run) -> list[ProcessHoldings]:
    """The run's processes that hold or wait for something."""
    own = Process.objects.filter(run_process__run=run).order_by("run_process__number")
    rows = list(own.values_list("pk", "run_process__number", "pool", "pool__bypass_limit"))
    holdings, waits = holdings_of(pk for pk, *_ in rows), waits_of(pk for pk, *_ in rows)
    holders = _holders(waits)
    return [
        ProcessHoldings(
            number, pk, pool, limit, holdings.get(pk, []), waits.get(pk), holders.get(pk, ())
        )
        for pk, number, pool, limit in rows
        if pk in holdings or pk in waits
    ]


def _holders(waits: Mapping[int, WaitRow]) -> dict[int, tuple[ResourceHolder, ...]]:
    """By the process that waits. One query, and none where nothing waits."""
    who = {blocker.process for wait in waits.values() for blocker in wait.blockers}
    if not who:
        return {}
    crawls = dict(
        RunProcess.objects.filter(bank_process__in=who).values_list("bank_process", "run__crawl")
    )
    return {
        pk: tuple(
            dict.fromkeys(
                ResourceHolder(blocker.label, crawls.get(blocker.process))
                for blocker in wait.blockers
            )
        )
        for pk, wait in waits.items()
    }


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
