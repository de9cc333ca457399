"""The current state of a run's processes: their units, their requests, and the steps of their fetch
threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from allocation.models import RequestKind
from allocation.selectors import holdings_of, waits_of
from allocation.snapshot import Holding, WaitRow
from crawling.dashboard.run.numbers import RunRows, live_shifts
from crawling.models import Run, RunProcess, Shift
from crawling.runs.stage_waits import stage_in_words
from serving.listing.columns import Column


@dataclass(frozen=True)
class ResourceHolder:
    label: str
    #: id of its crawl; None for a process without a crawl, such as the pre-resolver
    crawl: int | None


@dataclass(frozen=True)
class ProcessHoldings:
    number: int
    process: int
    #: id of the pool, for the address of the pool's page
    pool: int
    bypass_limit: int
    holdings: list[Holding]
    wait: WaitRow | None
    #: units by class that its shift used at its latest measurement
    used: Mapping[str, int]
    #: the holders of the units for which the process waits, each once
    holders: tuple[ResourceHolder, ...] = ()

    @property
    def stage(self) -> str:
        """The wait of fetch threads of its shift for more units, as a sentence; or empty."""
        if self.wait is None or self.wait.kind != RequestKind.STAGE:
            return ""
        return stage_in_words(self.wait.amounts)

    @property
    def uses(self) -> list[tuple[Holding, int | None]]:
        """The held units of each class, with the number that is in use (None if it is not
        measured).
        """
        return [(held, self.used.get(held.key)) for held in self.holdings]


def holdings_and_waits(run: Run, rows: RunRows | None = None) -> list[ProcessHoldings]:
    """The run's processes that hold units or wait for some.

    rows: the rows, if the caller has already read them.
    """
    processes = rows.processes if rows else run.processes.select_related("bank_process__pool")
    enrolled = [(one.number, one.bank_process) for one in processes if one.bank_process]
    holding = [process.pk for _, process in enrolled if process.holding]
    waiting = [process.pk for _, process in enrolled if process.is_waiting]
    holdings = holdings_of(holding) if holding else {}
    waits = waits_of(waiting) if waiting else {}
    holders = _holders(waits)
    live = rows.live_shifts if rows else live_shifts(run) if holding else ()
    used = {shift.process.number: shift.used for shift in live}
    return [
        ProcessHoldings(
            number,
            process.pk,
            process.pool_id,
            process.pool.bypass_limit,
            holdings.get(process.pk, []),
            waits.get(process.pk),
            used.get(number, {}),
            holders.get(process.pk, ()),
        )
        for number, process in sorted(enrolled, key=lambda one: one[0])
        if process.pk in holdings or process.pk in waits
    ]


def _holders(waits: Mapping[int, WaitRow]) -> dict[int, tuple[ResourceHolder, ...]]:
    """For each waiting process, the holders. Takes one query, or none if no process waits."""
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
    process: Annotated[int, Column("number of its process")]
    number: int
    step: str
    url: Annotated[str, Column("empty while it has none")]
    since: datetime


def fetch_threads_of(shifts: Iterable[Shift]) -> list[FetchThreadRow]:
    """The fetch threads, as the live shifts last stored them; they do so once a second."""
    return [
        FetchThreadRow(shift.process.number, number, step, url, datetime.fromtimestamp(since, UTC))
        for shift in sorted(shifts, key=lambda shift: shift.process.number)
        for number, step, url, since in shift.fetch_threads
    ]


def steps_of(threads: Sequence[FetchThreadRow]) -> list[tuple[str, int]]:
    """The number of fetch threads at each step, the commonest step first."""
    return Counter(thread.step for thread in threads).most_common()
