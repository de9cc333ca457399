"""What the fetch threads of a run's live shifts are doing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from crawling.models import Run, Shift


@dataclass(frozen=True)
class FetchThreadRow:
    """One fetch thread; `url` is "" while it has none."""

    process: int
    number: int
    step: str
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
