"""A run's numbers over time: as charts with few enough points to read, and by minute.

Each chart or list takes one query.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.db.models import Sum
from django.utils import timezone

from crawling.frontier.run_counts import CHARTED, COUNTED, ChartCounts, FetchCounts, sum_expressions
from crawling.models import HostQueue, Run, RunCount
from serving.downloads import Download, row_file
from serving.paging import cut_to_limit

#: the minutes of each point, by the hours that the chart of all crawls covers
SPANS = {1: 1, 24: 15}
#: the most points of a chart of a run
POINTS = 240
#: units of bytes, the largest first
SIZES = {"GB": 1024**3, "MB": 1024**2, "KB": 1024, "bytes": 1}
_COLUMNS = ", ".join(CHARTED)

SUMS = f"""
SELECT date_bin(%(step)s::interval, minute, %(origin)s), {sum_expressions(CHARTED)}
FROM {{rows}} AS counts WHERE minute >= %(since)s AND minute <= %(until)s
GROUP BY 1
"""  # noqa: S608  # constants
OF_A_RUN = "(SELECT * FROM crawling_runcount WHERE run_id = %(run)s)"
#: the sums of complete minutes, and the counts since then
OF_ALL = f"""(
    SELECT minute, {_COLUMNS} FROM crawling_minutetotal
    UNION ALL
    SELECT minute, {_COLUMNS} FROM crawling_runcount
    WHERE minute > coalesce((SELECT max(minute) FROM crawling_minutetotal), '-infinity')
)"""  # noqa: S608  # constants


#: the most pages of a run, the latest first, that are read for the chart of one of its hosts
LOOKED_AT = 50_000
OF_A_HOST = """
SELECT date_bin(%(step)s::interval, page.fetched_at, %(origin)s), count(*), sum(page.bytes)::bigint
FROM (
    SELECT url_id, fetched_at, bytes FROM crawling_page
    WHERE run_id = %(run)s AND fetched_at >= %(since)s ORDER BY fetched_at DESC LIMIT %(most)s
) AS page JOIN crawling_url AS url ON url.id = page.url_id
WHERE url.queue_id = %(queue)s GROUP BY 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSeriesPoint(ChartCounts):
    """The counts of one interval.

    A retry subtracts the earlier failure, so a count may be negative.
    """

    #: the beginning of the interval
    at: datetime
    #: whether the interval is not over yet, so that its sums can still rise
    is_open: bool = False

    @property
    def is_busy(self) -> bool:
        return bool(self.fetched or self.failed or self.discovered)

    @property
    def iso(self) -> str:
        return self.at.isoformat()

    @property
    def label(self) -> str:
        return f"{self.at:%b} {self.at.day} {self.at:%H:%M}"

    def size(self, unit: str) -> float:
        """The bytes in a unit of SIZES."""
        return round(self.bytes / SIZES[unit], 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMinute(FetchCounts):
    minute: datetime


@dataclass(frozen=True)
class TimeSeries:
    """Points without gaps, the oldest first. The last interval may be incomplete."""

    #: the length of an interval
    minutes: int
    points: tuple[TimeSeriesPoint, ...]

    @property
    def interval(self) -> str:
        return "minute" if self.minutes == 1 else f"{self.minutes} minutes"

    @property
    def per(self) -> str:
        return "a minute" if self.minutes == 1 else self.interval

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw: no interval is complete yet, or nothing was fetched in
        any.
        """
        return not any(point.is_busy for point in self.points if not point.is_open)

    @property
    def why_empty(self) -> str:
        is_begun = any(point.is_open and point.is_busy for point in self.points)
        if is_begun or all(point.is_open for point in self.points):
            return f"The first bar appears when the first {self.interval} is over."
        return "No page was fetched in this time."

    @property
    def fetched(self) -> int:
        return sum(point.fetched for point in self.points)

    @property
    def failed(self) -> int:
        return max(0, sum(point.failed for point in self.points))

    @property
    def failed_percent(self) -> float:
        """The percentage of failures among the URLs that were fetched or failed; a URL can fail
        without an answer.
        """
        return 100 * self.failed / (max(self.fetched, self.failed) or 1)

    @property
    def bytes(self) -> int:
        return sum(point.bytes for point in self.points)

    @property
    def size_unit(self) -> str:
        """The largest unit that the largest point reaches. Smaller units would give long numbers,
        larger ones only fractions.
        """
        most = max((point.bytes for point in self.points), default=0)
        return next((unit for unit, size in SIZES.items() if most >= size), "bytes")


def chart_of_all(hours: int) -> TimeSeries:
    now = timezone.now()
    return _chart(now - timedelta(hours=hours), now, SPANS[hours], None, goes_on=True)


def from_first_fetch(chart: TimeSeries) -> TimeSeries:
    """The points from the first interval with any fetch on, but at least the last hour. Otherwise
    the chart of a new machine would be empty but for a bar at its end.
    """
    last_hour = timezone.now() - timedelta(hours=1, minutes=chart.minutes)
    shown = (n for n, point in enumerate(chart.points) if point.is_busy or point.at >= last_hour)
    return replace(chart, points=chart.points[next(shown, 0) :])


def chart_of_run(run: Run) -> TimeSeries:
    """The counts of a run from its first fetch to its end or now."""
    until = run.finished_at or timezone.now()
    since = run.started_at or until
    minutes = max(1, -(-int((until - since).total_seconds() // 60 + 1) // POINTS))
    return _chart(since, until, minutes, run, goes_on=run.finished_at is None)


def chart_of_host(queue: HostQueue) -> tuple[TimeSeries, bool]:
    """The answers that a run had from one of its hosts, and whether earlier answers are left
    out.
    """
    run = queue.run
    until = run.finished_at or timezone.now()
    since = run.started_at or until
    older = run.pages.order_by("-fetched_at", "-url_id").values_list("fetched_at", flat=True)
    oldest = older[LOOKED_AT : LOOKED_AT + 1].first()
    since = max(since, oldest or since)
    step = max(1, -(-int((until - since).total_seconds() // 60 + 1) // POINTS))
    asked = {"run": run.pk, "queue": queue.pk, "most": LOOKED_AT}
    with connection.cursor() as cursor:
        cursor.execute(OF_A_HOST, {**asked, "step": f"{step} minutes", **_bounds(since, until)})
        sums = {at: {"fetched": n, "bytes": size} for at, n, size in cursor.fetchall()}
    goes_on = run.finished_at is None
    return _series(since, until, step, sums, goes_on=goes_on), oldest is not None


def _bounds(since: datetime, until: datetime) -> dict[str, datetime]:
    first = since.replace(second=0, microsecond=0)
    return {"origin": first, "since": first, "until": until}


def _chart(
    since: datetime, until: datetime, minutes: int, run: Run | None, *, goes_on: bool
) -> TimeSeries:
    with connection.cursor() as cursor:
        query = SUMS.format(rows=OF_A_RUN if run else OF_ALL)
        cursor.execute(
            query,
            {
                "step": f"{minutes} minutes",
                **_bounds(since, until),
                "run": run.pk if run else None,
            },
        )
        sums = {at: dict(zip(CHARTED, counts, strict=True)) for at, *counts in cursor.fetchall()}
    return _series(since, until, minutes, sums, goes_on=goes_on)


def _series(
    since: datetime,
    until: datetime,
    minutes: int,
    sums: dict[datetime, dict[str, int]],
    *,
    goes_on: bool,
) -> TimeSeries:
    """Complete intervals from the minute of `since` on. Intervals without sums have zeros."""
    step = timedelta(minutes=minutes)
    first = since.replace(second=0, microsecond=0)
    length = int((until - first) / step) + 1
    moments = [first + i * step for i in range(length)]
    points = [TimeSeriesPoint(at=at, is_open=False, **sums.get(at, {})) for at in moments]
    if goes_on:
        points[-1] = replace(points[-1], is_open=True)
    return TimeSeries(minutes, tuple(points))


def run_minutes(run: Run, *, after: int = 0, limit: int) -> tuple[list[RunMinute], int | None]:
    """The run's work by minute, the oldest first; the cursor is a minute, in seconds since 1970."""
    since = datetime.fromtimestamp(after, UTC)
    counts = RunCount.objects.filter(run=run, minute__gt=since).values("minute").order_by("minute")
    sums = counts.annotate(**{f"total_{name}": Sum(name) for name in COUNTED})
    found = sums.values_list("minute", *(f"total_{name}" for name in COUNTED))
    rows = [
        RunMinute(minute=minute, **dict(zip(COUNTED, totals, strict=True)))
        for minute, *totals in found[: limit + 1]
    ]
    return cut_to_limit(rows, limit, lambda row: int(row.minute.timestamp()))


def chart_file(stem: str, chart: TimeSeries) -> Download:
    rows = (
        {"from": point.at, "minutes": chart.minutes}
        | {name: getattr(point, name) for name in CHARTED}
        for point in chart.points
    )
    return row_file(stem, "csv", rows)
