"""An operator's actions on the frontier: move waiting URLs to the front or to the end, exclude and
readmit them, and queue failed URLs again, with the counts of their tries reset.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from django.db import connection
from django.db.models import QuerySet

from crawling.frontier.exclusion import exclude_urls, readmit_urls
from crawling.frontier.run_counts import IS_FILE, FetchCounts, add_counts
from crawling.models import Run, Url, UrlState
from crawling.web.statuses import FetchStatus

#: URLs in one transaction
SLICE = 10_000

#: the URLs' pages are removed, too, since they will be fetched again, and every counted page has a
#: row. Files that were fetched before files were counted are subtracted as pages
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
        due_at = least(q.due_at, clock_timestamp()), outage = NULL, retry_at = NULL,
        origin_outages = NULL
    FROM (SELECT queue_id, count(*) AS n FROM back GROUP BY queue_id) counted
    WHERE q.id = counted.queue_id
), statuses AS (
    UPDATE crawling_runstatuscount c SET urls = c.urls - n
    FROM (SELECT status, count(*) AS n FROM back GROUP BY status) counted
    WHERE c.run_id = %(run)s AND c.state = '{UrlState.FAILED}' AND c.status = counted.status
), pages AS (
    DELETE FROM crawling_page p USING back WHERE p.url_id = back.id
    RETURNING p.bytes, p.unchanged_since, p.duplicate_of, p.reused_from, p.content_type
)
SELECT (SELECT count(*) FROM back), count(*),
    coalesce(sum(bytes) FILTER (WHERE unchanged_since IS NULL), 0)::bigint,
    count(duplicate_of), count(reused_from),
    least(count(*) FILTER (WHERE {IS_FILE.format("content_type")}),
        (SELECT files FROM crawling_runtotal WHERE run_id = %(run)s))
FROM pages
"""  # noqa: S608 - the states are constants


class UrlAction(StrEnum):
    """Actions on URLs.

    A place is relative to URLs of the same host, since hosts take turns.
    """

    FIRST = "first"
    USUAL = "usual"
    LAST = "last"
    TAKE_OUT = "take_out"
    PUT_BACK = "put_back"


LANES = {UrlAction.FIRST: -1, UrlAction.USUAL: 0, UrlAction.LAST: 1}


def apply_action(run: Run, deed: UrlAction, url_ids: Sequence[int]) -> int:
    """Apply an operator's action to the URLs that it fits: to queued URLs or, for PUT_BACK, to URLs
    that an operator took out. Return their number.

    The caller holds the run's lock. URLs in process are still fetched.
    """
    if deed is UrlAction.TAKE_OUT:
        return exclude_urls(
            run.pk, dict.fromkeys(url_ids, FetchStatus.TAKEN_OUT.sentence), FetchStatus.TAKEN_OUT
        )
    if deed is UrlAction.PUT_BACK:
        return readmit_urls(
            run.pk, list(excluded_urls(run).filter(pk__in=url_ids).values_list("pk", flat=True))
        )
    waiting = Url.objects.filter(run=run, state=UrlState.QUEUED, pk__in=url_ids).exclude(
        lane=LANES[deed]
    )
    return waiting.update(lane=LANES[deed])


def excluded_urls(run: Run) -> QuerySet[Url]:
    """The URLs that an operator has taken out of the run."""
    return Url.objects.filter(run=run, state=UrlState.EXCLUDED, status=FetchStatus.TAKEN_OUT)


def requeue_failed(
    run_id: int,
    *,
    status: int | None = None,
    url_id: int | None = None,
    keeps_tries: bool = False,
) -> int:
    """Queue failed URLs of a run again: all, those of one status, or one.

    Return their number. The caller holds the run's lock.

    keeps_tries: the used tries still count.

    Shifts wait for that lock, but briefly: a batch takes a tenth of a second.
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
        failed, *less = cursor.fetchone()
        if failed:
            names = ("fetched", "bytes", "duplicate", "reused", "files")
            counts = dict(zip(names, (-number for number in less), strict=True))
            less = FetchCounts(failed=-failed, **counts)
            add_counts(cursor, run_id, less)
    return int(failed)
