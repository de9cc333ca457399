"""Keep robots.txt files between shifts, so that each is asked for once a day and not once a crawl:
a cache of fixed size (SEEDS W6).
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from crawling.models import Level, RobotsFile
from crawling.run_log import NewLogLine, write_all
from crawling.web.statuses import NO_ANSWERS, explain, is_answer

#: RFC 9309, section 2.4: not longer than 24 hours
KEEP_SECONDS = 24 * 3600.0
#: a file that could not be fetched is requested again soon
RETRY_SECONDS = 60.0
#: while a newer file cannot be had, one that was had is good for so long, and asked for again so
#: often (sections 2.3.1.4 and 2.4)
OLDEST_SECONDS = 30 * 24 * 3600.0
RENEW_SECONDS = 600.0
#: of more than so many files, or bytes of them, the oldest are forgotten
MOST_FILES = 200_000
MOST_BYTES = 512 * 1024 * 1024

KEEP = """
INSERT INTO crawling_robotsfile (origin, status, body, fetched_at, expires_at)
VALUES (%s, %s, %s, clock_timestamp(), clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (origin) DO UPDATE SET status = excluded.status, body = excluded.body,
    fetched_at = excluded.fetched_at, expires_at = excluded.expires_at
"""

#: what is known holds on while nothing newer can be had
KEEP_ON = """
UPDATE crawling_robotsfile SET expires_at = clock_timestamp() + make_interval(secs => %s)
WHERE origin = %s AND fetched_at > clock_timestamp() - make_interval(secs => %s)
    AND status / 100 IN (2, 4) AND status <> ALL(%s)
"""

TRIM = """
DELETE FROM crawling_robotsfile WHERE origin IN (
    SELECT origin FROM (
        SELECT origin, row_number() OVER latest AS files,
            sum(octet_length(body)) OVER latest AS bytes
        FROM crawling_robotsfile WINDOW latest
            AS (ORDER BY fetched_at DESC, origin ROWS UNBOUNDED PRECEDING)
    ) kept WHERE files > %s OR bytes > %s
)
"""


def old_robots(origins: Collection[str]) -> dict[str, tuple[int, bytes]]:
    """Return status and body by origin, of those that may hold on while no newer ones can be
    had."""
    rows = RobotsFile.objects.filter(origin__in=origins).extra(
        where=[
            "expires_at <= clock_timestamp()",
            "fetched_at > clock_timestamp() - make_interval(secs => %s)",
        ],
        params=[OLDEST_SECONDS],
    )
    return {row.origin: (row.status, bytes(row.body)) for row in rows if is_answer(row.status)}


def known_robots(origins: Collection[str]) -> dict[str, tuple[int, bytes]]:
    """Return status and body by origin, of those that are still fresh."""
    fresh = RobotsFile.objects.filter(origin__in=origins).extra(
        where=["expires_at > clock_timestamp()"]
    )
    return {row.origin: (row.status, bytes(row.body)) for row in fresh}


def keep_all_robots(run_id: int, answers: Collection[tuple[str, int, bytes]]) -> None:
    """Store the answers of a run's shift, as (origin, status, body), and log them."""
    write_all(run_id, [_line(*answer, holds_on=keep_robots(*answer)) for answer in answers])


def _line(origin: str, status: int, body: bytes, *, holds_on: bool) -> NewLogLine:
    address, said = f"{origin}/robots.txt", explain(status).rstrip(".")
    if holds_on:
        return NewLogLine(
            f"robots.txt unavailable ({said}): the one fetched before continues to hold.",
            Level.WARNING,
            address,
        )
    if not is_answer(status):
        return NewLogLine(
            f"robots.txt unavailable ({said}): nothing is fetched there until it answers.",
            Level.WARNING,
            address,
        )
    if status < 300:
        return NewLogLine(f"robots.txt fetched: {len(body):,} bytes.", url=address)
    return NewLogLine(f"No robots.txt ({said}): everything may be fetched.", url=address)


def keep_robots(origin: str, status: int, body: bytes) -> bool:
    """Store an answer; the later of two wins.

    Where none could be had, an earlier one holds on: returns whether one does.
    """
    with connection.cursor() as cursor:
        if not is_answer(status):
            cursor.execute(KEEP_ON, [RENEW_SECONDS, origin, OLDEST_SECONDS, list(NO_ANSWERS)])
            if cursor.rowcount:
                return True
        cursor.execute(
            KEEP, [origin, status, body, KEEP_SECONDS if is_answer(status) else RETRY_SECONDS]
        )
    return False


def trim_robots(*, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> int:
    """Forget the oldest files beyond the cache's size; returns how many.

    They are asked for again when they are needed.
    """
    with connection.cursor() as cursor:
        cursor.execute(TRIM, [most_files, most_bytes])
        return int(cursor.rowcount)
