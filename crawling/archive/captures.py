"""The captures of an address: its stored answers, over all runs."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from crawling.models import Page
from crawling.web.addresses import fingerprints

#: run by run, so that PostgreSQL descends once for each run into the index of its fingerprints
FIND = """
SELECT p.url_id FROM crawling_run r
CROSS JOIN LATERAL (
    SELECT id, url FROM crawling_url WHERE run_id = r.id AND fingerprint = ANY(%s)
) u
JOIN crawling_page p ON p.url_id = u.id AND p.archive_file_id IS NOT NULL
WHERE u.url = %s AND r.removal_asked_at IS NULL AND (%s::bigint[] IS NULL OR r.crawl_id = ANY(%s))
ORDER BY r.id DESC LIMIT %s
"""
#: the most captures of an address that are counted
MOST = 2000


def captures_of(url: str, *, crawls: Collection[int] | None = None) -> list[Page]:
    """The stored answers of a canonical URL, earliest first. crawls: only answers of these
    crawls.
    """
    within = None if crawls is None else list(crawls)
    with connection.cursor() as cursor:
        cursor.execute(FIND, [fingerprints(url), url, within, within, MOST])
        ids = [row[0] for row in cursor.fetchall()]
    found = Page.objects.filter(pk__in=ids).select_related("url", "run__crawl")
    return list(found.order_by("fetched_at", "pk"))
