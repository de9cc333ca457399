"""Take waiting URLs out of a run without a fetch, and put them back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from django.db import connection

from crawling.frontier.run_counts import COUNT_STATUSES, FetchCounts, add_counts
from crawling.models import UrlState
from crawling.web.statuses import FetchStatus

EXCLUDE = f"""
UPDATE crawling_url u SET state = '{UrlState.EXCLUDED}', status = %(status)s, error = gone.error,
    due_at = NULL
FROM unnest(%(ids)s::bigint[], %(errors)s::text[]) AS gone(id, error)
WHERE u.id = gone.id AND u.run_id = %(run)s AND u.state = '{UrlState.QUEUED}' RETURNING u.queue_id
"""  # noqa: S608 - the states are constants

READMIT = f"""
WITH gone AS (SELECT id, status FROM crawling_url
    WHERE id = ANY(%(ids)s) AND run_id = %(run)s AND state = '{UrlState.EXCLUDED}')
UPDATE crawling_url u SET state = '{UrlState.QUEUED}', status = NULL, error = '', attempts = 0,
    shift_id = NULL
FROM gone WHERE u.id = gone.id RETURNING u.queue_id, gone.status
"""  # noqa: S608 - the states are constants

MOVE = """
UPDATE crawling_hostqueue q SET queued = q.queued + moved.n, done = q.done - moved.n,
    due_at = CASE WHEN moved.n > 0 THEN greatest(q.retry_at, least(q.due_at, clock_timestamp()))
        ELSE q.due_at END
FROM unnest(%s::bigint[], %s::int[]) AS moved(id, n) WHERE q.id = moved.id
"""


def exclude(run_id: int, errors: Mapping[int, str], status: FetchStatus) -> int:
    """Exclude waiting URLs, each for its reason by id; returns how many.

    The caller holds the run's lock.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            EXCLUDE,
            {
                "run": run_id,
                "ids": list(errors),
                "errors": list(errors.values()),
                "status": int(status),
            },
        )
        queues = Counter(queue for (queue,) in cursor.fetchall())
        count = queues.total()
        if count:
            cursor.execute(MOVE, [list(queues), [-n for n in queues.values()]])
            cursor.execute(
                COUNT_STATUSES, [run_id, [UrlState.EXCLUDED.value], [int(status)], [count]]
            )
            add_counts(cursor, run_id, FetchCounts(excluded=count))
    return count


def readmit(run_id: int, url_ids: Sequence[int]) -> int:
    """Queue excluded URLs as if they were new; returns how many.

    The caller holds the run's lock.
    """
    with connection.cursor() as cursor:
        cursor.execute(READMIT, {"run": run_id, "ids": list(url_ids)})
        rows = cursor.fetchall()
        if rows:
            queues, statuses = (
                Counter(queue for queue, _ in rows),
                Counter(status for _, status in rows),
            )
            cursor.execute(MOVE, [list(queues), list(queues.values())])
            excluded = [UrlState.EXCLUDED.value] * len(statuses)
            cursor.execute(
                COUNT_STATUSES, [run_id, excluded, list(statuses), [-n for n in statuses.values()]]
            )
            add_counts(cursor, run_id, FetchCounts(excluded=-len(rows)))
    return len(rows)
