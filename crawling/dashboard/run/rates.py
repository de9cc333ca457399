"""The rate at which a run fetches: now, on average, and by minute, or by second for a run of a few
minutes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Exists, OuterRef, Sum
from django.utils import timezone

from crawling.models import Run, RunCount, Shift

#: the most bars of a drawing
BARS = 30
#: the size of the drawing, in its own units
WIDTH, HEIGHT = 240, 40
WIDEST = WIDTH / 20
MINUTE = timedelta(minutes=1)
#: the seconds that a bar may sum up in a run of a few minutes; other bars sum up counted minutes
STEPS = (1, 2, 5, 10, 20)
#: the most pages of a young run that are read
MOST_PAGES = 20_000
OF_SECONDS = """
SELECT floor(extract(epoch FROM fetched_at - %(first)s) / %(step)s)::int, count(*) FROM (
    SELECT fetched_at FROM crawling_page WHERE run_id = %(run)s AND fetched_at >= %(first)s
    LIMIT %(most)s
) AS page GROUP BY 1
"""


class MinuteBar(NamedTuple):
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True)
class FetchRates:
    """The number of pages fetched in each of the latest intervals, the oldest first."""

    counts: Sequence[tuple[datetime, int]]
    #: pages a second over the last minute or two
    now: float | None
    #: the length of an interval; the last may be shorter
    step: timedelta = MINUTE
    #: the end of the run, which is in the last interval; None if the run continues
    until: datetime | None = None

    @property
    def most(self) -> int:
        return max((pages for _, pages in self.counts), default=0)

    @property
    def interval(self) -> str:
        """The interval in words, to follow *pages by*."""
        seconds = round(self.step.total_seconds())
        return "minute" if seconds == 60 else f"{seconds} seconds" if seconds > 1 else "second"

    @property
    def in_seconds(self) -> bool:
        """Whether times are shown with seconds."""
        return bool(self.counts) and self._span < BARS / 2 * MINUTE

    @property
    def end(self) -> datetime:
        """The end of the axis, which is the run's end if it has ended."""
        return self.until or self.counts[-1][0] + self.step

    @property
    def _span(self) -> timedelta:
        return self.end - self.counts[0][0]

    @property
    def bars(self) -> list[MinuteBar]:
        """A bar for each interval, for SVG, in the middle of the interval and not too wide."""
        if not self.counts:
            return []
        first, scale = self.counts[0][0], WIDTH / max(1.0, self._span.total_seconds())
        bars = []
        for at, pages in self.counts:
            begin = scale * (at - first).total_seconds()
            length = min(scale * self.step.total_seconds(), WIDTH - begin)
            width, height = min(0.8 * length, WIDEST), HEIGHT * pages / max(1, self.most)
            x = begin + (length - width) / 2
            bars.append(
                MinuteBar(f"{x:.2f}", f"{HEIGHT - height:.2f}", f"{width:.2f}", f"{height:.2f}")
            )
        return bars


def rates_of(run: Run, *, is_live: bool, fetched: int) -> FetchRates:
    """The intervals that are over, up to now or to the end of an ended run.

    is_live: whether the run has a live shift; without one it fetches nothing now. fetched: the
    run's number of pages.
    """
    until = run.finished_at or timezone.now()
    last = until.replace(second=0, microsecond=0)
    begun = (run.started_at or last).replace(second=0, microsecond=0)
    found = _rates_of_short_run(run, run.started_at, until, fetched) if run.started_at else None
    counts = found.counts if found else _minutes(run, max(last - (BARS - 1) * MINUTE, begun), last)
    rate = None
    if is_live and run.started_at:
        since = last - MINUTE
        pages = sum(pages for at, pages in counts if at >= since)
        rate = _pages_a_second(pages, max(run.started_at, since), until)
    if found:
        return replace(found, now=rate)
    if run.finished_at:
        return FetchRates(counts, rate, until=max(until, last + timedelta(seconds=1)))
    return FetchRates(counts[:-1], rate)


def _minutes(run: Run, first: datetime, last: datetime) -> Sequence[tuple[datetime, int]]:
    rows = (
        RunCount.objects.filter(run=run, minute__gte=first)
        .values("minute")
        .annotate(pages=Sum("fetched"))
    )
    fetched = {row["minute"]: max(0, row["pages"]) for row in rows}
    length = int((last - first) / MINUTE) + 1
    return [
        (minute, fetched.get(minute, 0)) for minute in (first + i * MINUTE for i in range(length))
    ]


def _rates_of_short_run(
    run: Run, first: datetime, until: datetime, counted: int
) -> FetchRates | None:
    """The bars of a run that took a few minutes, by its pages. None if bars of minutes suffice, or
    if the run has too many pages.
    """
    first, span = first.replace(microsecond=0), until - first
    steps = [timedelta(seconds=step) for step in STEPS]
    step = next((step for step in steps if span <= BARS * step), None)
    if step is None or not 0 < counted <= MOST_PAGES:
        return None
    with connection.cursor() as cursor:
        values: dict[str, Any] = {
            "run": run.pk,
            "first": first,
            "step": step.total_seconds(),
            "most": MOST_PAGES,
        }
        cursor.execute(OF_SECONDS, values)
        fetched = dict(cursor.fetchall())
    if run.finished_at and sum(fetched.values()) != counted:
        return None  # its pages are withdrawn or removed
    whole = int((until - first) / step)
    length = whole + bool(run.finished_at and first + whole * step < until)
    counts = [(first + i * step, fetched.get(i, 0)) for i in range(length)]
    return FetchRates(counts, None, step, until if run.finished_at else None)


def rates_now(run_ids: Collection[int]) -> dict[int, float]:
    """Pages a second over the last minute or two, rounded to a tenth, so that the shown rates add
    up.

    A run without a live shift fetches nothing and has no rate. Nor has a run in its first second.
    """
    now = timezone.now()
    since = now.replace(second=0, microsecond=0) - MINUTE
    # by the ids of these runs, since a join from all live shifts may read all runs that ever
    # existed
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
        run: _pages_a_second(pages.get(run, 0), max(begun, since), now)
        for run, begun in started.items()
        if begun
    }
    return {run: rate for run, rate in rates.items() if rate is not None}


def _pages_a_second(pages: int, since: datetime, now: datetime) -> float | None:
    """Pages a second; None within the first second."""
    seconds = (now - since).total_seconds()
    return round(pages / seconds, 1) if seconds >= 1 else None
