"""The use of a pool: samples that the owner of its processes takes, and that are stored as sums by
minute.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.db import connection

from allocation.fields import ClockTimestamp
from allocation.models import ResourceClass, UseMinute

#: the time for which rows are kept: each pool has at most 44,640
KEPT = timedelta(days=31)

ADD_SAMPLE = """
INSERT INTO allocation_useminute AS minute (pool_id, minute, samples, used)
VALUES (%s, date_trunc('minute', clock_timestamp()), 1, %s::bigint[])
ON CONFLICT (pool_id, minute) DO UPDATE
SET samples = minute.samples + 1, used = ARRAY(
    SELECT coalesce(had + more, had, more)
    FROM unnest(minute.used, excluded.used) WITH ORDINALITY AS class (had, more, ordinal)
    ORDER BY ordinal
)
"""


def note_use(used: Mapping[int, Mapping[str, int]]) -> None:
    """Add a sample of each pool: used units by class. A missing class is not measured.

    No decision depends on it and no pool changes, so no pool is locked.
    """
    keys: dict[int, list[str]] = {}
    classes = ResourceClass.objects.filter(pool__in=used).order_by("pool", "ordinal")
    for pool, key in classes.values_list("pool", "key"):
        keys.setdefault(pool, []).append(key)
    with connection.cursor() as cursor:
        for pool, names in keys.items():
            cursor.execute(ADD_SAMPLE, [pool, [used[pool].get(name) for name in names]])


def forget_use() -> int:
    """Delete rows that are older than `KEPT`. Return their number."""
    return UseMinute.objects.filter(minute__lt=ClockTimestamp() - KEPT).delete()[0]
