"""Take waiting URLs out of a run without a fetch, and put them back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.frontier.run_counts import (
    FetchCounts,
    QueueCount,
    StatusCount,
    add_counts,
    count_statuses,
)
from crawling.frontier.sql_rows import SentRows, read_rows
from crawling.models import UrlState
from crawling.web.addresses import canonical_address
from crawling.web.statuses import FetchStatus


class UrlExclusion(NamedTuple):
    id: int
    error: str


LEAVING = SentRows("gone", UrlExclusion)
EXCLUDE = f"""
UPDATE crawling_url u SET state = '{UrlState.EXCLUDED}', status = %(status)s, error = gone.error,
    due_at = NULL
FROM {LEAVING}
WHERE u.id = gone.id AND u.run_id = %(run)s AND u.state = '{UrlState.QUEUED}'
RETURNING u.queue_id AS queue, u.lane, u.rank, u.id, u.url
"""  # noqa: S608 - the states are constants

#: the next URL of each of these queues, if its host has an outage
NEXT = f"""
SELECT q.id AS queue, u.lane, u.rank, u.id, u.url FROM crawling_hostqueue q CROSS JOIN LATERAL (
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

MOVED = SentRows("moved", QueueCount)
MOVE = f"""
UPDATE crawling_hostqueue q SET queued = q.queued + moved.n, done = q.done - moved.n,
    due_at = CASE WHEN moved.n > 0 THEN greatest(q.retry_at, least(q.due_at, clock_timestamp()))
        ELSE q.due_at END
FROM {MOVED} WHERE q.id = moved.id
"""  # noqa: S608  # constants


def exclude_urls(run_id: int, errors: Mapping[int, str], status: FetchStatus) -> int:
    """Exclude waiting URLs. Return their number. errors: the reasons by URL id.

    The caller holds the run's lock.
    """
    with connection.cursor() as cursor:
        leaving = starmap(UrlExclusion, errors.items())
        cursor.execute(EXCLUDE, LEAVING.values(leaving, run=run_id, status=int(status)))
        gone = read_rows(cursor, QueuedUrl)
        queues = Counter(url.queue for url in gone)
        count = queues.total()
        if count:
            _move_counts(cursor, {queue: -n for queue, n in queues.items()})
            count_statuses(
                cursor, run_id, [StatusCount(UrlState.EXCLUDED.value, int(status), count)]
            )
            add_counts(cursor, run_id, FetchCounts(excluded=count))
            _make_queues_due(cursor, gone)
    return count


class QueuedUrl(NamedTuple):
    queue: int
    lane: int
    rank: float
    id: int
    url: str

    @property
    def origin(self) -> str:
        return canonical_address(self.url).origin


def _make_queues_due(cursor: CursorWrapper, gone: Iterable[QueuedUrl]) -> None:
    """Try a waiting host at once if its next URL was excluded and the following URL has another
    origin, which may answer.
    """
    first: dict[int, QueuedUrl] = {}
    for url in gone:
        first[url.queue] = min(url, first.get(url.queue, url))
    cursor.execute(NEXT, [list(first)])
    following = read_rows(cursor, QueuedUrl)
    wanted = [
        url.queue
        for url in following
        if first[url.queue] < url and first[url.queue].origin != url.origin
    ]
    if wanted:
        cursor.execute(WAKE, [wanted])


def readmit_urls(run_id: int, url_ids: Sequence[int]) -> int:
    """Queue excluded URLs as if they were new. Return their number.

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
            _move_counts(cursor, queues)
            state = UrlState.EXCLUDED.value
            counts = [StatusCount(state, status, -n) for status, n in statuses.items()]
            count_statuses(cursor, run_id, counts)
            add_counts(cursor, run_id, FetchCounts(excluded=-len(rows)))
    return len(rows)


def _move_counts(cursor: CursorWrapper, counts: Mapping[int, int]) -> None:
    """Add each number to the waiting URLs of its queue, by queue id, and subtract it from the done
    URLs. A number may be negative.
    """
    cursor.execute(MOVE, MOVED.values(starmap(QueueCount, counts.items())))
