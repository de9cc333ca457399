"""Keep robots.txt files between shifts, so that each is asked for once a day and not once a crawl: a cache of fixed size (SEEDS W6)."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from crawling.logbook import Line, write_all
from crawling.models import Level, RobotsFile
from crawling.rules.statuses import explain

#: RFC 9309, section 2.4: not longer than 24 hours
KEEP_SECONDS = 24 * 3600.0
#: what could not be had is asked for again soon
RETRY_SECONDS = 60.0
#: of more than so many files, or bytes of them, the oldest are forgotten
MOST_FILES = 200_000
MOST_BYTES = 512 * 1024 * 1024

KEEP = """
INSERT INTO crawling_robotsfile (origin, status, body, fetched_at, expires_at)
VALUES (%s, %s, %s, clock_timestamp(), clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (origin) DO UPDATE SET status = excluded.status, body = excluded.body,
    fetched_at = excluded.fetched_at, expires_at = excluded.expires_at
"""

TRIM = """
DELETE FROM crawling_robotsfile WHERE origin IN (
    SELECT origin FROM (
        SELECT origin, row_number() OVER latest AS files, sum(octet_length(body)) OVER latest AS bytes
        FROM crawling_robotsfile WINDOW latest AS (ORDER BY fetched_at DESC, origin ROWS UNBOUNDED PRECEDING)
    ) kept WHERE files > %s OR bytes > %s
)
"""


def known_robots(origins: Collection[str]) -> dict[str, tuple[int, bytes]]:
    """Return status and body by origin, of those that are still fresh."""
    fresh = RobotsFile.objects.filter(origin__in=origins).extra(where=["expires_at > clock_timestamp()"])
    return {row.origin: (row.status, bytes(row.body)) for row in fresh}


def keep_all_robots(run_id: int, answers: Collection[tuple[str, int, bytes]]) -> None:
    """Store what a run's shift was answered, as (origin, status, body), and tell its log."""
    for answer in answers:
        keep_robots(*answer)
    write_all(run_id, [_line(*answer) for answer in answers])


def _line(origin: str, status: int, body: bytes) -> Line:
    address, said = f"{origin}/robots.txt", explain(status).rstrip(".")
    if 200 <= status < 300:
        return Line(f"robots.txt fetched: {len(body):,} bytes.", url=address)
    if 300 <= status < 500:
        return Line(f"No robots.txt ({said}): everything may be fetched.", url=address)
    return Line(f"robots.txt unavailable ({said}): nothing is fetched there until it answers.", Level.WARNING, address)


def keep_robots(origin: str, status: int, body: bytes) -> None:
    """Store an answer; the later of two wins."""
    answered = 200 <= status < 500
    with connection.cursor() as cursor:
        cursor.execute(KEEP, [origin, status, body, KEEP_SECONDS if answered else RETRY_SECONDS])


def trim_robots(*, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> int:
    """Forget the oldest files beyond the cache's size; returns how many. They are asked for again when they are needed."""
    with connection.cursor() as cursor:
        cursor.execute(TRIM, [most_files, most_bytes])
        return int(cursor.rowcount)
