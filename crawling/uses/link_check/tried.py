"""Addresses of a run that another run of the crawl did not try. A limit may end a run before an
address, or the page that links to it, is fetched; nothing is known of the address then.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from crawling.models import Run, UrlState
from crawling.web.addresses import fingerprint
from crawling.web.statuses import FetchStatus

#: of a page whose links are gone with it
GONE = "(404, 410)"
#: the row of the same address in the run `%(other)s`, and that of the page on which it was found
JOINED = """crawling_url AS url
LEFT JOIN crawling_url AS met ON met.run_id = %(other)s AND met.fingerprint = url.fingerprint
LEFT JOIN crawling_url AS via ON via.id = url.via AND met.id IS NULL
LEFT JOIN crawling_url AS source
    ON source.run_id = %(other)s AND source.fingerprint = via.fingerprint
CROSS JOIN (SELECT EXISTS (
    SELECT FROM crawling_hostqueue WHERE run_id = %(other)s AND queued > 0
) AS waits) AS rest"""
#: the other run tried the address, or had pages to fetch no more that might link to it
KNOWN = f"""CASE
    WHEN met.id IS NOT NULL THEN met.state IN ('{UrlState.SUCCEEDED}', '{UrlState.FAILED}')
        OR coalesce(met.status = {FetchStatus.WRONG_TYPE:d}, false)
    WHEN source.id IS NOT NULL
        THEN source.state = '{UrlState.SUCCEEDED}' OR coalesce(source.status IN {GONE}, false)
    ELSE NOT rest.waits END"""
UNKNOWN = f"""
SELECT url.url FROM {JOINED}
WHERE url.run_id = %(run)s AND url.fingerprint = ANY(%(marks)s) AND NOT {KNOWN}
"""  # noqa: S608  # constants


def not_tried(run: Run, other: Run, urls: Collection[str]) -> set[str]:
    """The addresses of a run of which another run does not say whether they are there."""
    marks = [fingerprint(url) for url in urls]
    with connection.cursor() as cursor:
        cursor.execute(UNKNOWN, {"run": run.pk, "other": other.pk, "marks": marks})
        return {url for (url,) in cursor.fetchall()}
