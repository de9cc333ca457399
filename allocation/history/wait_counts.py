"""The number of waiting requests of a pool. It is stored at every hundredth event, so the number at
any time follows from the nearest stored one and a few events after it, however long the ledger is.
"""

from __future__ import annotations

from django.db import connection

from allocation.models import Pool, WaitCount

EVERY = 100
#: the number of events that one statement reads
CHUNK = 50_000
#: The change of the number of waiting requests by an event. Only an event that ends a wait lowers
#: it, since a request that was granted at once never waited.
CHANGE = """
CASE WHEN event.kind = 'waiting' THEN 1
     WHEN event.kind IN ('granted', 'cancelled', 'expired')
         AND EXISTS (SELECT FROM allocation_event AS wait
                      WHERE wait.request_id = event.request_id AND wait.kind = 'waiting') THEN -1
     ELSE 0 END
"""
COUNTED = f"""
WITH last AS (
    SELECT coalesce(max(version), 0) AS version,
           coalesce((array_agg(waiting ORDER BY version DESC))[1], 0) AS waiting
      FROM (SELECT version, waiting FROM allocation_waitcount WHERE pool_id = %(pool)s
             ORDER BY version DESC LIMIT 1) AS latest
)
INSERT INTO allocation_waitcount (pool_id, version, at, waiting)
SELECT %(pool)s, version, at, waiting
  FROM (SELECT event.version, event.at,
               last.waiting + sum({CHANGE}) OVER (ORDER BY event.version) AS waiting
          FROM last JOIN allocation_event AS event
            ON event.pool_id = %(pool)s AND event.version > last.version
                AND event.version <= last.version + %(chunk)s) AS counted
 WHERE version %% %(every)s = 0
    ON CONFLICT DO NOTHING
"""  # noqa: S608  # constants


def keep_wait_counts() -> int:
    """Store the counts that have become due since the last call. Return their number. No lock is
    needed, since events never change.
    """
    return sum(
        _write_new_counts(pool, version)
        for pool, version in Pool.objects.values_list("pk", "version")
    )


def _write_new_counts(pool: int, version: int) -> int:
    last = (
        WaitCount.objects.filter(pool=pool)
        .order_by("-version")
        .values_list("version", flat=True)
        .first()
    )
    kept, done = 0, last or 0
    with connection.cursor() as cursor:
        while version - done >= EVERY:
            cursor.execute(COUNTED, {"pool": pool, "every": EVERY, "chunk": CHUNK})
            if not cursor.rowcount:
                break
            kept, done = kept + cursor.rowcount, done + cursor.rowcount * EVERY
    return kept
