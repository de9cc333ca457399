"""Pages whose records are lost, since the machine that fetched them has died before it uploaded
them.
"""

from __future__ import annotations

from django.db import connection

from crawling.frontier.run_counts import IS_FILE, FetchCounts, add_counts
from crawling.models import UrlState

#: the pages whose records are behind the bytes that are left of a file, and the pages of the run
#: that refer to their payloads
LOST = """
lost AS (
    SELECT url_id, is_revisit, fingerprint, payload_sha256 FROM crawling_page
    WHERE run_id = %(run)s AND archive_file_id = %(file)s AND archive_offset >= %(left)s
), pages AS (
    SELECT url_id FROM lost UNION
    SELECT p.url_id FROM lost l JOIN crawling_page p ON p.run_id = %(run)s AND p.is_revisit
        AND p.fingerprint = l.fingerprint AND p.payload_sha256 = l.payload_sha256
    WHERE NOT l.is_revisit
)
"""
#: As for a retry of failed URLs, but of those that succeeded, too, with what was extracted from
#: them.
QUEUE_AGAIN = f"""
WITH {LOST}, before AS (
    SELECT u.id, u.state, u.status FROM crawling_url u JOIN pages ON pages.url_id = u.id
    WHERE u.state IN ('{UrlState.SUCCEEDED}', '{UrlState.FAILED}')
), back AS (
    UPDATE crawling_url u SET state = '{UrlState.QUEUED}', shift_id = NULL, losses = 0,
        attempts = 0, due_at = NULL
    FROM before WHERE u.id = before.id
    RETURNING u.id, u.queue_id, before.state AS state_before, before.status AS status_before
), queues AS (
    UPDATE crawling_hostqueue q SET queued = q.queued + n, done = q.done - n,
        due_at = least(q.due_at, clock_timestamp())
    FROM (SELECT queue_id, count(*) AS n FROM back GROUP BY queue_id) counted
    WHERE q.id = counted.queue_id
), statuses AS (
    UPDATE crawling_runstatuscount c SET urls = c.urls - n
    FROM (SELECT state_before, status_before, count(*) AS n FROM back GROUP BY 1, 2) counted
    WHERE c.run_id = %(run)s AND c.state = state_before AND c.status = status_before
), extracted AS (
    DELETE FROM crawling_extractedrow e USING back WHERE e.url_id = back.id
), gone AS (
    DELETE FROM crawling_page p USING back WHERE p.url_id = back.id
    RETURNING p.bytes, p.unchanged_since, p.duplicate_of, p.reused_from, p.content_type,
        p.links_part
)
SELECT (SELECT count(*) FROM back),
    (SELECT count(*) FROM back WHERE state_before = '{UrlState.FAILED}'), count(*),
    coalesce(sum(bytes) FILTER (WHERE unchanged_since IS NULL), 0)::bigint,
    count(duplicate_of), count(reused_from),
    least(count(*) FILTER (WHERE {IS_FILE.format("content_type")}),
        (SELECT files FROM crawling_runtotal WHERE run_id = %(run)s)),
    coalesce(array_agg(DISTINCT links_part) FILTER (WHERE links_part IS NOT NULL), '{{}}')
FROM gone
"""  # noqa: S608 - constants
#: the pages of a run that has ended: they stay, without records
WITHOUT_RECORDS = f"""
WITH {LOST}
UPDATE crawling_page p SET archive_file_id = NULL, archive_offset = NULL, archive_length = NULL,
    rendition = NULL
FROM lost WHERE p.url_id = lost.url_id
"""  # noqa: S608 - constants
SHORTEN = "UPDATE crawling_archivefile SET committed_length = %(left)s WHERE id = %(file)s"


def queue_lost_pages(run_id: int, file_id: int, left: int) -> tuple[int, list[int]]:
    """Queue the pages again whose records are behind the first `left` bytes of a file. Return their
    number, and the ids of the parts of the links dataset that had their links.

    The caller holds the run's lock.
    """
    values = {"run": run_id, "file": file_id, "left": left}
    with connection.cursor() as cursor:
        cursor.execute(QUEUE_AGAIN, values)
        urls, failed, *less, parts = cursor.fetchone()
        if urls:
            names = ("fetched", "bytes", "duplicate", "reused", "files")
            counts = dict(zip(names, (-number for number in less), strict=True))
            ends = {"failed": -failed, "succeeded": failed - urls}
            add_counts(cursor, run_id, FetchCounts(**ends, **counts))
        cursor.execute(SHORTEN, values)
    return urls, parts


def forget_lost_records(run_id: int, file_id: int, left: int) -> int:
    """Take the places of lost records from the pages of a run that has ended. Return the number of
    pages. The caller holds the run's lock.
    """
    values = {"run": run_id, "file": file_id, "left": left}
    with connection.cursor() as cursor:
        cursor.execute(WITHOUT_RECORDS, values)
        count = int(cursor.rowcount)
        cursor.execute(SHORTEN, values)
    return count
