"""What became of one URL, in every run that has met it."""

from __future__ import annotations

from django.db import connection

from crawling.models import Url
from crawling.rules.addresses import fingerprints, read_address

#: run by run, so that each look is one step down the index that knows a run's fingerprints
FIND = """
SELECT u.id FROM crawling_run r CROSS JOIN LATERAL (
    SELECT id, url FROM crawling_url WHERE run_id = r.id AND fingerprint = ANY(%s)
) u
WHERE u.url = %s AND r.id < %s AND r.removal_asked_at IS NULL ORDER BY r.id DESC LIMIT %s
"""
LARGEST = 2**63 - 1


def history_of(text: str, *, before: int | None = None, limit: int) -> tuple[str, list[Url], int | None]:
    """The URL in its canonical form, its row in each run that has met it, the latest first, and the run's id to go on before.

    Raises BadUrl.
    """
    url = read_address(text).url
    with connection.cursor() as cursor:
        cursor.execute(FIND, [fingerprints(url), url, LARGEST if before is None else before, limit + 1])
        ids = [row[0] for row in cursor.fetchall()]
    rows = Url.objects.select_related("run__crawl", "page").filter(pk__in=ids[:limit]).order_by("-run_id")
    found = list(rows)
    return url, found, found[-1].run_id if len(ids) > limit else None
