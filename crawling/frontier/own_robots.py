"""robots.txt files that a run requested with headers, cookies, credentials or a proxy of its own.
The files outlive the run's shifts, and no other run reads them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from django.db import connection

from crawling.frontier.host_state import (
    KEEP_SECONDS,
    OLDEST_SECONDS,
    RENEW_SECONDS,
    robots_line,
)
from crawling.installation.run_log import write_all
from crawling.web.statuses import is_answer

#: Only files of this revision: before an edit of the order, requests may have been different.
FIND = """
SELECT origin, status, body, expires_at > clock_timestamp() FROM crawling_ownrobotsfile
WHERE run_id = %s AND revision = %s AND origin = ANY(%s)
    AND fetched_at > clock_timestamp() - make_interval(secs => %s)
"""
KEEP = """
INSERT INTO crawling_ownrobotsfile (run_id, revision, origin, status, body, fetched_at, expires_at)
VALUES (%s, %s, %s, %s, %s, clock_timestamp(), clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (run_id, origin) DO UPDATE SET revision = excluded.revision, status = excluded.status,
    body = excluded.body, fetched_at = excluded.fetched_at, expires_at = excluded.expires_at
"""
KEEP_ON = """
UPDATE crawling_ownrobotsfile SET expires_at = clock_timestamp() + make_interval(secs => %s)
WHERE run_id = %s AND revision = %s AND origin = %s
    AND fetched_at > clock_timestamp() - make_interval(secs => %s)
"""


class OwnRobots(NamedTuple):
    """Status and body by origin, of valid files, and of files that remain valid only while no newer
    ones can be fetched.
    """

    fresh: dict[str, tuple[int, bytes]]
    old: dict[str, tuple[int, bytes]]


def robots_of_run(run_id: int, revision: int, origins: Collection[str]) -> OwnRobots:
    """The run's files that were fetched for this revision of the order."""
    found = OwnRobots({}, {})
    with connection.cursor() as cursor:
        cursor.execute(FIND, [run_id, revision, list(origins), OLDEST_SECONDS])
        for origin, status, body, is_fresh in cursor.fetchall():
            (found.fresh if is_fresh else found.old)[origin] = (status, bytes(body))
    return found


def store_robots_of_run(
    run_id: int, revision: int, answers: Collection[tuple[str, int, bytes]]
) -> None:
    """Store the answers of a run's shift, as (origin, status, body), and log them.

    A failure is not stored: an earlier answer remains valid, or the host waits.
    """
    lines = [
        robots_line(*answer, holds_on=_store_answer(run_id, revision, *answer))
        for answer in answers
    ]
    write_all(run_id, lines)


def _store_answer(run_id: int, revision: int, origin: str, status: int, body: bytes) -> bool:
    """Store an answer. Return whether an earlier file remains valid."""
    with connection.cursor() as cursor:
        if is_answer(status):
            cursor.execute(KEEP, [run_id, revision, origin, status, body, KEEP_SECONDS])
            return False
        cursor.execute(KEEP_ON, [RENEW_SECONDS, run_id, revision, origin, OLDEST_SECONDS])
        return bool(cursor.rowcount)
