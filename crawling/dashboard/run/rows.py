"""Rows of a run that many parts of its page are made of: each is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F

from crawling.frontier.run_counts import RunCounts, counts_of
from crawling.models import Run, RunProcess, Shift

#: of the shifts
SOME = 10


@dataclass(frozen=True)
class RunRows:
    """A run's processes, shifts and counts."""

    #: by number, each with its process of the pool, if it has one there
    processes: Sequence[RunProcess]
    #: all that live, then the latest
    shifts: Sequence[Shift]
    counts: RunCounts

    @property
    def live_shifts(self) -> list[Shift]:
        return [shift for shift in self.shifts if shift.ended_at is None]


def live_shifts(run: Run) -> list[Shift]:
    return list(Shift.objects.filter(process__run=run, ended_at=None).select_related("process"))


def rows_of(run: Run) -> RunRows:
    """In three queries."""
    processes = list(run.processes.select_related("bank_process__pool").order_by("number"))
    shifts = Shift.objects.filter(process__run=run).select_related("process")
    latest = shifts.order_by(F("ended_at").desc(nulls_first=True), "-pk")
    return RunRows(
        processes, list(latest[: max(SOME, len(processes))]), counts_of([run.pk])[run.pk]
    )
