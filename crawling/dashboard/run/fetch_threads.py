"""What the toes of a run's live shifts are doing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from crawling.models import Run, Shift


@dataclass(frozen=True)
class FetchThreadRow:
    """One toe thread; `url` is "" while it has none."""

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
        .values_list("process__number", "toes")
    )
    return [
        FetchThreadRow(process, number, step, url, datetime.fromtimestamp(since, UTC))
        for process, toes in shifts
        for number, step, url, since in toes
    ]


def steps_of(toes: Sequence[FetchThreadRow]) -> list[tuple[str, int]]:
    """How many toes are at each step, the commonest first."""
    return Counter(toe.step for toe in toes).most_common()
