"""The cache's history for pages: how names were resolved, summed by the minute, and evictions. Old
rows are deleted.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta

from django.db import connection
from django.db.models.functions import Now

from dnscache.answer_cache import AnswerCache
from dnscache.protocol.answers import DnsStatus
from dnscache.records import SUMS, WAITS, DnsDropped, DnsMinute, DnsServerMinute
from dnscache.resolution import AnswerSource, Resolution

_ADD = f"""
INSERT INTO dnscache_dnsminute AS m (minute, {", ".join(SUMS)}, waits)
VALUES (date_trunc('minute', clock_timestamp()), {", ".join(f"%({name})s" for name in SUMS)},
    %(waits)s)
ON CONFLICT (minute) DO UPDATE SET
    {", ".join(f"{name} = m.{name} + excluded.{name}" for name in SUMS)},
        waits = (SELECT array_agg(a + b ORDER BY place)
        FROM unnest(m.waits, excluded.waits) WITH ORDINALITY AS both_waits(a, b, place))
"""  # noqa: S608 - the columns are constants
MOST_KEPT = 1000
MINUTES_KEPT = timedelta(days=7)


class LookupCounter:
    """Counts of resolved names. Any thread may count; one thread writes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._waits = [0] * (len(WAITS) + 1)
        self._waited = 0.0
        self._told: Counter[str] = Counter()

    def note(self, resolution: Resolution, waited: float) -> None:
        """Count an answer that was used. waited: the seconds that its host waited.

        A literal address is not counted.
        """
        if resolution.source is AnswerSource.LITERAL:
            return
        with self._lock:
            self._counts[resolution.source] += 1
            self._counts["stale"] += resolution.stale
            self._waits[bisect_left(WAITS, waited)] += 1
            self._waited += waited

    def note_look_ups(self, totals: Mapping[str, int]) -> None:
        """Count the increase of a pre-resolver's running totals since the last call."""
        gained = Counter(totals) - self._told
        self._told = Counter(totals)
        with self._lock:
            self._counts["asked"] += gained["queued"]
            self._counts["cut"] += gained["cut"]
            for status in (status for status in DnsStatus if status in gained):
                self._counts["failed" if status.is_failure else "answered"] += gained[status]

    def store_counts(self) -> None:
        """Add these counts to the current minute's row."""
        with self._lock:
            counts, waits, waited = self._counts, self._waits, self._waited
            self._counts, self._waits, self._waited = Counter(), [0] * (len(WAITS) + 1), 0.0
        if not counts.total():
            return
        with connection.cursor() as cursor:
            cursor.execute(
                _ADD,
                {
                    **{name: counts[name] for name in SUMS},
                    "waited_seconds": waited,
                    "waits": waits,
                },
            )


def keep_history(memory: AnswerCache) -> None:
    """Store the evictions since the last call, and delete old rows."""
    dropped, memory.dropped = memory.dropped, []
    DnsDropped.objects.bulk_create(
        DnsDropped(name=one.name, region=one.region, weight=one.weight, why=one.why)
        for one in dropped
    )
    if dropped:
        last = (
            DnsDropped.objects.order_by("-pk")
            .values_list("pk", flat=True)[MOST_KEPT - 1 : MOST_KEPT]
            .first()
        )
        if last:
            DnsDropped.objects.filter(pk__lt=last).delete()
    for minutes in (DnsMinute, DnsServerMinute):
        minutes.objects.filter(minute__lt=Now() - MINUTES_KEPT).delete()
