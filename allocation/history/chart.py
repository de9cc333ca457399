"""The share of a pool's units that processes held over time, and the number of waiting requests,
sampled from the ledger. Also the use of units by minute. All of this is computed in the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from allocation.history.wait_counts import CHANGE
from allocation.isolation import repeatable_read
from allocation.models import ResourceClass
from allocation.wording import UnitWords

#: the seconds that a chart covers, by name
SPANS: dict[str, float | None] = {"hour": 3600.0, "day": 86400.0, "all": None}
SAMPLES = 60

#: The last event up to the end of each interval, and the number of requests waiting then: the last
#: count before it, and the changes by later events.
SAMPLED = f"""
WITH span AS (
    SELECT greatest(clock_timestamp() - make_interval(secs => %(seconds)s::float8),
        first.at) AS begins, clock_timestamp() AS ends
      FROM (SELECT at FROM allocation_event WHERE pool_id = %(pool)s ORDER BY version LIMIT 1) first
), sample AS (
    SELECT number, begins + (ends - begins) * number / %(samples)s AS at
      FROM span CROSS JOIN generate_series(1, %(samples)s) AS number
)
SELECT sample.at, event.available_after, coalesce(counted.waiting, 0) + since.change,
       (SELECT amounts FROM allocation_event AS capacity
         WHERE capacity.pool_id = %(pool)s
             AND capacity.kind IN ('created', 'capacity_set', 'class_added')
           AND capacity.version <= event.version ORDER BY version DESC LIMIT 1)
  FROM sample
  LEFT JOIN LATERAL (
    SELECT version, waiting FROM allocation_waitcount AS one
     WHERE one.pool_id = %(pool)s AND one.at <= sample.at ORDER BY one.at DESC, version DESC LIMIT 1
  ) AS counted ON true
  LEFT JOIN LATERAL (
    SELECT version FROM allocation_waitcount AS one
     WHERE one.pool_id = %(pool)s AND version > coalesce(counted.version, 0)
     ORDER BY version LIMIT 1
  ) AS following ON true
 CROSS JOIN LATERAL (
    SELECT max(event.version) AS version, coalesce(sum({CHANGE}), 0) AS change
      FROM allocation_event AS event
     WHERE event.pool_id = %(pool)s AND event.at <= sample.at
       AND event.version > coalesce(counted.version, 0)
       AND event.version < coalesce(following.version, 9223372036854775807)
  ) AS since
  LEFT JOIN allocation_event AS event ON event.pool_id = %(pool)s
   AND event.version = coalesce(since.version, counted.version)
 ORDER BY sample.number
"""  # noqa: S608  # constants
#: the number of samples, and their sum for each class, over the minutes of each interval
USED = """
SELECT number, sum(samples), {sums}
  FROM generate_series(1, %(samples)s) AS number
  JOIN allocation_useminute ON pool_id = %(pool)s
   AND minute < %(begins)s + number * %(step)s
   AND minute > %(begins)s + (number - 1) * %(step)s - interval '1 minute'
 GROUP BY number
"""
WIDTH, HEIGHT = 240, 40


@dataclass(frozen=True)
class UtilisationSample:
    """The end of one interval: its time, for each class the percentage that processes held then and
    the mean percentage that they used in the interval (None if not measured), and the number of
    waiting requests.
    """

    at: datetime
    reserved: tuple[int, ...]
    used: tuple[int | None, ...]
    waiting: int


@dataclass(frozen=True)
class ChartLine:
    """One line: its points in a field of 240 by 40, and its latest value."""

    points: str
    first: int
    latest: int
    most: int


@dataclass(frozen=True)
class ResourceLines:
    name: str
    #: the places of its lines' numbers within a sample, for the page's script
    columns: str
    reserved: ChartLine
    #: None if not measured in any interval
    used: ChartLine | None


@dataclass(frozen=True)
class UtilisationChart:
    names: tuple[str, ...]
    #: the points of the lines as numbers, the oldest first
    samples: tuple[UtilisationSample, ...]
    classes: tuple[ResourceLines, ...]
    waiting: ChartLine

    @property
    def table(self) -> list[tuple[datetime, tuple[int | None, ...]]]:
        """The end of each interval, and its numbers."""
        return [(one.at, (*one.reserved, *one.used, one.waiting)) for one in self.samples]

    @property
    def waiting_column(self) -> int:
        return 2 * len(self.names)

    @property
    def minutes(self) -> float:
        first, second = self.samples[:2]
        return round((second.at - first.at).total_seconds() / 60, 3)


def utilisation_chart(pool: int, span: str) -> UtilisationChart:
    """The samples of a pool's past. `span`: one of SPANS."""
    with repeatable_read(), connection.cursor() as cursor:
        cursor.execute(SAMPLED, {"pool": pool, "seconds": SPANS[span], "samples": SAMPLES})
        rows = cursor.fetchall()
        names = tuple(
            UnitWords(*one).name
            for one in ResourceClass.objects.filter(pool=pool)
            .order_by("ordinal")
            .values_list("key", "unit")
        )
        used = _mean_use(cursor, pool, [at for at, *_ in rows], len(names))
    samples = tuple(
        _utilisation_sample(*row, used=use) for row, use in zip(rows, used, strict=True)
    )
    return UtilisationChart(
        names=names,
        samples=samples,
        classes=tuple(
            _class_lines(names, j, [s.reserved[j] for s in samples], [s.used[j] for s in samples])
            for j in range(len(names))
        ),
        waiting=_chart_line([sample.waiting for sample in samples]),
    )


def _mean_use(
    cursor: CursorWrapper, pool: int, ends: list[datetime], classes: int
) -> list[tuple[float | None, ...]]:
    """The mean number of used units of each class in each interval; None if not measured."""
    step = ends[1] - ends[0]
    sums = ", ".join(f"sum(used[{j}])" for j in range(1, classes + 1))
    values: dict[str, Any] = {"begins": ends[0] - step, "step": step, "samples": len(ends)}
    cursor.execute(USED.format(sums=sums), {"pool": pool, **values})
    means = {
        number: tuple(None if units is None else float(units / samples) for units in used)
        for number, samples, *used in cursor.fetchall()
    }
    return [means.get(number, (None,) * classes) for number in range(1, len(ends) + 1)]


def _utilisation_sample(
    at: datetime,
    available: list[int] | None,
    waiting: int,
    capacity: list[int] | None,
    *,
    used: tuple[float | None, ...],
) -> UtilisationSample:
    """The state at the end of an interval; empty before the first event."""
    units = capacity or []
    return UtilisationSample(
        at,
        _held_percent(available or [], units, len(used)),
        tuple(map(_use_percent, used, _padded_values(units, len(used)))),
        int(waiting),
    )


def _held_percent(available: list[int], capacity: list[int], classes: int) -> tuple[int, ...]:
    held = [
        100 * (units - free) // units if units else 0
        for free, units in zip(available, capacity, strict=False)
    ]
    return tuple(_padded_values(held, classes))


def _use_percent(units: float | None, capacity: int) -> int | None:
    """The percentage, rounded up, so that even a small use is visible."""
    if units is None:
        return None
    return ceil(100 * units / capacity) if capacity else 0


def _padded_values(values: list[int], length: int) -> list[int]:
    """The values, with 0 for classes that did not exist yet."""
    return [*values, *[0] * (length - len(values))]


def _class_lines(
    names: Sequence[str], j: int, reserved: Sequence[int], used: Sequence[int | None]
) -> ResourceLines:
    is_measured = any(value is not None for value in used)
    return ResourceLines(
        names[j],
        f"{j} {len(names) + j}" if is_measured else f"{j}",
        _chart_line(reserved, 100),
        _chart_line(used, 100) if is_measured else None,
    )


def _chart_line(values: Sequence[int | None], top: int | None = None) -> ChartLine:
    """The line through the intervals with a value, of which there is at least one."""
    known = [value for value in values if value is not None]
    height = max(top or max(known), 1)
    step = WIDTH / (len(values) - 1)
    points = " ".join(
        f"{i * step:.1f},{HEIGHT - 1 - value * (HEIGHT - 2) / height:.1f}"
        for i, value in enumerate(values)
        if value is not None
    )
    return ChartLine(points, known[0], known[-1], max(known))
