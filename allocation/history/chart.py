"""How full a pool was over time, and how many waited, sampled from the ledger, and what was used of
it by minute: in the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from allocation.isolation import repeatable_read
from allocation.models import CAPACITY_KINDS, Event, Request, RequestState, ResourceClass
from allocation.wording import UnitWords

#: how many seconds may be looked back on
SPANS: dict[str, float | None] = {"hour": 3600.0, "day": 86400.0, "all": None}
SAMPLES = 60

#: The last event of each interval, by how much the number of waiting requests changed in it, and
#: the first event of all. Only an event that ends a wait lowers that number: one that was granted
#: at once never waited.
SAMPLED = """
WITH span AS (
    SELECT greatest(clock_timestamp() - make_interval(secs => %(seconds)s::float8),
        first.at) AS begins, clock_timestamp() AS ends
      FROM (SELECT at FROM allocation_event WHERE pool_id = %(pool)s ORDER BY version LIMIT 1) first
), bound AS (
    SELECT array_agg(begins + (ends - begins) * number / %(samples)s ORDER BY number) AS bounds
      FROM span CROSS JOIN generate_series(0, %(samples)s - 1) AS number
), event AS (
    SELECT version, kind, request_id, width_bucket(at, (SELECT bounds FROM bound)) AS sample
      FROM allocation_event
     WHERE pool_id = %(pool)s AND at >= (SELECT begins FROM span)
), last AS (
    SELECT sample, min(version) AS first_version, max(version) AS version,
           count(*) FILTER (WHERE kind = 'waiting')
           - count(*) FILTER (WHERE kind IN ('granted', 'cancelled', 'expired')
                                AND EXISTS (SELECT FROM allocation_event AS wait
                                             WHERE wait.request_id = event.request_id
                                                 AND wait.kind = 'waiting')) AS change
      FROM event GROUP BY sample
)
SELECT begins + (ends - begins) * sample.number / %(samples)s, event.available_after,
    coalesce(last.change, 0),
       (SELECT amounts FROM allocation_event AS capacity
         WHERE capacity.pool_id = %(pool)s
             AND capacity.kind IN ('created', 'capacity_set', 'class_added')
           AND capacity.version <= event.version ORDER BY version DESC LIMIT 1),
       (SELECT min(first_version) FROM last)
  FROM span
 CROSS JOIN generate_series(1, %(samples)s) AS sample (number)
  LEFT JOIN last ON last.sample = sample.number
  LEFT JOIN allocation_event AS event ON event.pool_id = %(pool)s AND event.version = last.version
 ORDER BY sample.number
"""
#: samples, then their sum of each class, of the minutes that each interval touches
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
    """The end of one interval: when, the percentage of each class that processes held then and that
    they used on average in it (None: not measured), and how many requests waited.
    """

    at: datetime
    reserved: tuple[int, ...]
    used: tuple[int | None, ...]
    waiting: int


@dataclass(frozen=True)
class ChartLine:
    """One line: its points in a field of 240 by 40, and what it comes to."""

    points: str
    first: int
    latest: int
    most: int


@dataclass(frozen=True)
class ResourceLines:
    """The lines of one class."""

    name: str
    #: where the numbers of its lines are among those of a sample, as the page's script reads it
    columns: str
    reserved: ChartLine
    #: None: not measured in any interval
    used: ChartLine | None


@dataclass(frozen=True)
class UtilisationChart:
    """Utilisation by class, and the number that waited."""

    names: tuple[str, ...]
    #: the lines' points as numbers, the oldest first
    samples: tuple[UtilisationSample, ...]
    classes: tuple[ResourceLines, ...]
    waiting: ChartLine

    @property
    def waiting_column(self) -> int:
        return 2 * len(self.names)

    @property
    def minutes(self) -> float:
        """The length of an interval."""
        first, second = self.samples[:2]
        return round((second.at - first.at).total_seconds() / 60, 3)


def chart_of(pool: int, span: str) -> UtilisationChart:
    """Sample a pool's past. `span` is one of SPANS."""
    with repeatable_read(), connection.cursor() as cursor:
        cursor.execute(SAMPLED, {"pool": pool, "seconds": SPANS[span], "samples": SAMPLES})
        rows = cursor.fetchall()
        waiting = Request.objects.filter(pool=pool, state=RequestState.WAITING).count()
        events, first_version = Event.objects.filter(pool=pool), rows[0][-1]
        earlier = events.filter(version__lt=first_version) if first_version else events
        before = earlier.order_by("-version").first()
        names = tuple(
            UnitWords(*one).name
            for one in ResourceClass.objects.filter(pool=pool)
            .order_by("ordinal")
            .values_list("key", "unit")
        )
        capacity = _capacity(pool, before.version) if before else []
        used = _used(cursor, pool, [at for at, *_ in rows], len(names))
    samples = _samples(rows, (before.available_after if before else [], capacity), used, waiting)
    return UtilisationChart(
        names=names,
        samples=samples,
        classes=tuple(
            _lines(names, j, [s.reserved[j] for s in samples], [s.used[j] for s in samples])
            for j in range(len(names))
        ),
        waiting=_line([sample.waiting for sample in samples]),
    )


def _used(
    cursor: CursorWrapper, pool: int, ends: list[datetime], classes: int
) -> list[tuple[float | None, ...]]:
    """The mean number of used units of each class in each interval; None: not measured."""
    step = ends[1] - ends[0]
    sums = ", ".join(f"sum(used[{j}])" for j in range(1, classes + 1))
    values: dict[str, Any] = {"begins": ends[0] - step, "step": step, "samples": len(ends)}
    cursor.execute(USED.format(sums=sums), {"pool": pool, **values})
    means = {
        number: tuple(None if units is None else float(units / samples) for units in used)
        for number, samples, *used in cursor.fetchall()
    }
    return [means.get(number, (None,) * classes) for number in range(1, len(ends) + 1)]


def _capacity(pool: int, version: int) -> list[int]:
    found = Event.objects.filter(pool=pool, kind__in=CAPACITY_KINDS, version__lte=version).order_by(
        "-version"
    )
    return found.values_list("amounts", flat=True).first() or []


def _samples(
    rows: list[Any],
    standing: tuple[list[int], list[int]],
    used: list[tuple[float | None, ...]],
    waiting: int,
) -> tuple[UtilisationSample, ...]:
    """What stood at the end of each interval: an interval without an event is as the one before
    it."""
    changes = [change for _, _, change, *_ in rows]
    found = []
    for number, (at, available, _, capacity, _) in enumerate(rows, start=1):
        standing = standing if available is None else (available, capacity)
        use = used[number - 1]
        found.append(
            UtilisationSample(
                at,
                _percent(*standing, len(use)),
                tuple(map(_use_percent, use, _padded(standing[1], len(use)))),
                waiting - sum(changes[number:]),
            )
        )
    return tuple(found)


def _percent(available: list[int], capacity: list[int], classes: int) -> tuple[int, ...]:
    held = [
        100 * (units - free) // units if units else 0
        for free, units in zip(available, capacity, strict=False)
    ]
    return tuple(_padded(held, classes))


def _use_percent(units: float | None, capacity: int) -> int | None:
    """Rounded up, so that little shows."""
    if units is None:
        return None
    return ceil(100 * units / capacity) if capacity else 0


def _padded(values: list[int], length: int) -> list[int]:
    """A class that was added later had nothing before."""
    return [*values, *[0] * (length - len(values))]


def _lines(
    names: Sequence[str], j: int, reserved: Sequence[int], used: Sequence[int | None]
) -> ResourceLines:
    """Of the class with ordinal `j`."""
    is_measured = any(value is not None for value in used)
    return ResourceLines(
        names[j],
        f"{j} {len(names) + j}" if is_measured else f"{j}",
        _line(reserved, 100),
        _line(used, 100) if is_measured else None,
    )


def _line(values: Sequence[int | None], top: int | None = None) -> ChartLine:
    """Of the intervals with a value; there is one at least."""
    known = [value for value in values if value is not None]
    height = max(top or max(known), 1)
    step = WIDTH / (len(values) - 1)
    points = " ".join(
        f"{i * step:.1f},{HEIGHT - 1 - value * (HEIGHT - 2) / height:.1f}"
        for i, value in enumerate(values)
        if value is not None
    )
    return ChartLine(points, known[0], known[-1], max(known))
