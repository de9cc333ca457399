"""How fast a run fetches: now, on average, and minute by minute."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Sum
from django.utils import timezone

from crawling.models import Run, RunCount, Shift

MINUTES = 30
#: the box of the bars, in units of its own
WIDTH, HEIGHT = 240, 40
WIDEST = WIDTH / 20
MINUTE = timedelta(minutes=1)


class MinuteBar(NamedTuple):
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True)
class FetchRates:
    """Pages fetched in each of the latest minutes, the oldest first."""

    minutes: Sequence[tuple[datetime, int]]
    #: pages a second over the last minute or two
    now: float | None

    @property
    def most(self) -> int:
        return max((pages for _, pages in self.minutes), default=0)

    @property
    def until(self) -> datetime:
        return self.minutes[-1][0] + MINUTE

    @property
    def bars(self) -> list[MinuteBar]:
        """A bar a minute, for SVG: in the middle of its minute, and never a slab."""
        step = WIDTH / max(1, len(self.minutes))
        width = min(0.8 * step, WIDEST)
        heights = [HEIGHT * pages / max(1, self.most) for _, pages in self.minutes]
        return [
            MinuteBar(
                f"{(i + 0.5) * step - width / 2:.2f}",
                f"{HEIGHT - height:.2f}",
                f"{width:.2f}",
                f"{height:.2f}",
            )
            for i, height in enumerate(heights)
        ]


def rates_of(run: Run, *, is_live: bool) -> FetchRates:
    """The minutes that are over, up to now or to the end of a run that has ended.

    is_live: whether it has a live shift; without one it fetches nothing now.
    """
    until = run.finished_at or timezone.now()
    last = until.replace(second=0, microsecond=0)
    first = (
        max(last - (MINUTES - 1) * MINUTE, run.started_at.replace(second=0, microsecond=0))
        if run.started_at
        else last
    )
    rows = (
        RunCount.objects.filter(run=run, minute__gte=first)
        .values("minute")
        .annotate(pages=Sum("fetched"))
    )
    fetched = {row["minute"]: max(0, row["pages"]) for row in rows}
    length = int((last - first) / MINUTE) + 1
    minutes = [
        (minute, fetched.get(minute, 0)) for minute in (first + i * MINUTE for i in range(length))
    ]
    rate = None
    if is_live and run.started_at:
        since = last - MINUTE
        pages = sum(pages for minute, pages in minutes if minute >= since)
        rate = _rate(pages, max(run.started_at, since), until)
    return FetchRates(minutes if run.finished_at else minutes[:-1], rate)


def rates_now(run_ids: Collection[int]) -> dict[int, float]:
    """Pages a second over the last minute or two, rounded to a tenth, so that shown rates add up.

    A run without a live shift fetches nothing and has no rate; neither has one in its first second.
    """
    now = timezone.now()
    since = now.replace(second=0, microsecond=0) - MINUTE
    # by the runs' own ids: a join from all live shifts may walk all runs that there ever were
    live = Exists(Shift.objects.filter(process__run=OuterRef("pk"), ended_at=None))
    runs = Run.objects.filter(live, pk__in=run_ids, started_at__isnull=False)
    started = dict(runs.values_list("pk", "started_at"))
    rows = (
        RunCount.objects.filter(run__in=started, minute__gte=since)
        .values("run")
        .annotate(pages=Sum("fetched"))
    )
    pages = {row["run"]: max(0, row["pages"]) for row in rows}
    rates = {
        run: _rate(pages.get(run, 0), max(begun, since), now)
        for run, begun in started.items()
        if begun
    }
    return {run: rate for run, rate in rates.items() if rate is not None}


def _rate(pages: int, since: datetime, now: datetime) -> float | None:
    """Pages a second; None in the first second."""
    seconds = (now - since).total_seconds()
    return round(pages / seconds, 1) if seconds >= 1 else None
