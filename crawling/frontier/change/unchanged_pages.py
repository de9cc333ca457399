"""Find the pages of a crawl that its earlier runs have, and that need not be asked for again
yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from crawling.frontier.rules.revisits import RevisitCheck, due_again
from crawling.models import Page, Run

#: of each URL the latest times that its server was asked, and the page whose record has the
#: document
CHECKS = """
SELECT mine.id, checked.fetched_at, checked.digest, checked.page
FROM crawling_url mine CROSS JOIN LATERAL (
    SELECT p.fetched_at, p.digest, coalesce(p.unchanged_since, p.url_id) AS page FROM crawling_run r
    JOIN crawling_url u ON u.run_id = r.id AND u.fingerprint = mine.fingerprint AND u.url = mine.url
    JOIN crawling_page p ON p.url_id = u.id
    WHERE r.crawl_id = %(crawl)s AND r.number < %(number)s AND r.removal_asked_at IS NULL
        AND p.reused_from IS NULL
      AND p.archive_file_id IS NOT NULL AND p.digest IS NOT NULL
          AND (p.status = 200 OR p.unchanged_since IS NOT NULL)
    ORDER BY r.number DESC LIMIT %(most)s
) checked
WHERE mine.id = ANY(%(urls)s) ORDER BY mine.id, checked.fetched_at DESC
"""
#: older checks make no wait longer that is bounded anyway
MOST_CHECKS = 20


def find_steady(run: Run, url_ids: Collection[int], *, days: int) -> dict[int, Page]:
    """Pages that stay as they were, by the id of the run's URL: their servers need not be asked for
    now. days: the longest wait.
    """
    if run.number == 1 or not url_ids:
        return {}
    values: dict[str, Any] = {
        "crawl": run.crawl_id,
        "number": run.number,
        "urls": list(url_ids),
        "most": MOST_CHECKS,
    }
    checks, latest = defaultdict[int, list[RevisitCheck]](list), dict[int, int]()
    with connection.cursor() as cursor:
        cursor.execute(CHECKS, values)
        for url_id, at, digest, page in cursor.fetchall():
            checks[url_id].append(RevisitCheck(at, bytes(digest)))
            latest.setdefault(url_id, page)
    now = timezone.now()
    steady = {
        url_id: page
        for url_id, page in latest.items()
        if due_again(checks[url_id], timedelta(days=days)) > now
    }
    pages = Page.objects.select_related("url", "archive_file", "run").in_bulk(steady.values())
    return {url_id: pages[page] for url_id, page in steady.items() if page in pages}
