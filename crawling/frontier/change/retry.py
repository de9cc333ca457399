"""Put failed URLs back into their queues, as if neither they nor their hosts had ever been
tried."""

from __future__ import annotations

from django.db import connection

from crawling.frontier.run_counts import FetchCounts, add_counts
from crawling.models import UrlState

#: URLs in one transaction
SLICE = 10_000

#: their pages go, too: they will be fetched again, and every counted page has a row
RETRY = f"""
WITH slice AS (
    SELECT id FROM crawling_url
    WHERE run_id = %(run)s AND state = '{UrlState.FAILED}'
        AND (%(status)s::int IS NULL OR status = %(status)s)
      AND (%(url)s::bigint IS NULL OR id = %(url)s)
    LIMIT %(limit)s
), back AS (
    UPDATE crawling_url SET state = '{UrlState.QUEUED}', shift_id = NULL, losses = 0,
        attempts = CASE WHEN %(keeps_tries)s THEN attempts ELSE 0 END, due_at = NULL
    WHERE id IN (SELECT id FROM slice) RETURNING id, queue_id, status
), queues AS (
    UPDATE crawling_hostqueue q SET queued = q.queued + n, done = q.done - n,
        due_at = least(q.due_at, clock_timestamp()), outage = NULL, retry_at = NULL
    FROM (SELECT queue_id, count(*) AS n FROM back GROUP BY queue_id) counted
    WHERE q.id = counted.queue_id
), statuses AS (
    UPDATE crawling_runstatuscount c SET urls = c.urls - n
    FROM (SELECT status, count(*) AS n FROM back GROUP BY status) counted
    WHERE c.run_id = %(run)s AND c.state = '{UrlState.FAILED}' AND c.status = counted.status
), pages AS (
    DELETE FROM crawling_page p USING back WHERE p.url_id = back.id
    RETURNING p.bytes, p.unchanged_since, p.duplicate_of, p.reused_from
)
SELECT (SELECT count(*) FROM back), count(*),
    coalesce(sum(bytes) FILTER (WHERE unchanged_since IS NULL), 0)::bigint,
    count(duplicate_of), count(reused_from)
FROM pages
"""  # noqa: S608 - the states are constants


def requeue_failed(
    run_id: int,
    *,
    status: int | None = None,
    url_id: int | None = None,
    keeps_tries: bool = False,
) -> int:
    """Queue some of a run's failed URLs again: of all, of those of one status, or one.

    Returns how many. The caller holds the run's lock.

    keeps_tries: they have used as many tries as before.

    Shifts wait for that lock, and not for long: so many take a tenth of a second.
    """
    with connection.cursor() as cursor:
        values = {
            "run": run_id,
            "status": status,
            "url": url_id,
            "keeps_tries": keeps_tries,
            "limit": SLICE,
        }
        cursor.execute(RETRY, values)
        failed, fetched, size, duplicate, reused = cursor.fetchone()
        if failed:
            less = FetchCounts(
                failed=-failed, fetched=-fetched, bytes=-size, duplicate=-duplicate, reused=-reused
            )
            add_counts(cursor, run_id, less)
    return int(failed)
