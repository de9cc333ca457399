"""Take waiting URLs out of a run without a fetch, and put them back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.frontier.run_counts import COUNT_STATUSES, FetchCounts, add_counts
from crawling.models import UrlState
from crawling.web.addresses import canonical_address
from crawling.web.statuses import FetchStatus

EXCLUDE = f"""
UPDATE crawling_url u SET state = '{UrlState.EXCLUDED}', status = %(status)s, error = gone.error,
    due_at = NULL
FROM unnest(%(ids)s::bigint[], %(errors)s::text[]) AS gone(id, error)
WHERE u.id = gone.id AND u.run_id = %(run)s AND u.state = '{UrlState.QUEUED}'
RETURNING u.queue_id, u.lane, u.rank, u.id, u.url
"""  # noqa: S608 - the states are constants

#: the URL that is next, of those of the queues whose hosts let nothing be fetched
NEXT = f"""
SELECT q.id, u.lane, u.rank, u.id, u.url FROM crawling_hostqueue q CROSS JOIN LATERAL (
    SELECT lane, rank, id, url FROM crawling_url
    WHERE queue_id = q.id AND state = '{UrlState.QUEUED}' ORDER BY lane, rank, id LIMIT 1
) u
WHERE q.id = ANY(%s) AND q.retry_at > clock_timestamp()
"""  # noqa: S608 - the states are constants

WAKE = """
UPDATE crawling_hostqueue SET outage = NULL, retry_at = NULL, due_at = clock_timestamp()
WHERE id = ANY(%s)
"""

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
        gone = [QueuedUrl(*row) for row in cursor.fetchall()]
        queues = Counter(url.queue for url in gone)
        count = queues.total()
        if count:
            cursor.execute(MOVE, [list(queues), [-n for n in queues.values()]])
            cursor.execute(
                COUNT_STATUSES, [run_id, [UrlState.EXCLUDED.value], [int(status)], [count]]
            )
            add_counts(cursor, run_id, FetchCounts(excluded=count))
            _wake(cursor, gone)
    return count


class QueuedUrl(NamedTuple):
    """A URL in its place within its queue."""

    queue: int
    lane: int
    rank: float
    id: int
    url: str

    @property
    def origin(self) -> str:
        return canonical_address(self.url).origin


def _wake(cursor: CursorWrapper, gone: Iterable[QueuedUrl]) -> None:
    """A host that was waited for is tried at once where the URL that was next is gone, and another
    origin's is: that one may answer.
    """
    first: dict[int, QueuedUrl] = {}
    for url in gone:
        first[url.queue] = min(url, first.get(url.queue, url))
    cursor.execute(NEXT, [list(first)])
    following = [QueuedUrl(*row) for row in cursor.fetchall()]
    wanted = [
        url.queue
        for url in following
        if first[url.queue] < url and first[url.queue].origin != url.origin
    ]
    if wanted:
        cursor.execute(WAKE, [wanted])


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
