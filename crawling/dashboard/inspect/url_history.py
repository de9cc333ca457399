"""What became of one URL, in every run that has met it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from crawling.models import CrawlJob, Url
from crawling.web.addresses import fingerprints, read_address

#: run by run, so that each look is one step down the index of a run's fingerprints
FIND = """
SELECT u.id FROM crawling_run r CROSS JOIN LATERAL (
    SELECT id, url FROM crawling_url WHERE run_id = r.id AND fingerprint = ANY(%s)
) u
WHERE u.url = %s AND r.id < %s AND (%s::bigint IS NULL OR r.crawl_id = %s)
    AND r.removal_asked_at IS NULL ORDER BY r.id DESC LIMIT %s
"""
LARGEST = 2**63 - 1


def history_of(
    text: str, *, crawl: CrawlJob | None = None, before: int | None = None, limit: int
) -> tuple[str, list[Url], int | None]:
    """The URL in its canonical form, its row in each run that has met it, the latest first, and the
    run's id to go on before.

    crawl: only its runs. Raises BadUrl.
    """
    url = read_address(text).url
    with connection.cursor() as cursor:
        of = crawl.pk if crawl else None
        cursor.execute(
            FIND, [fingerprints(url), url, LARGEST if before is None else before, of, of, limit + 1]
        )
        ids = [row[0] for row in cursor.fetchall()]
    rows = (
        Url.objects.select_related("run__crawl", "page")
        .filter(pk__in=ids[:limit])
        .order_by("-run_id")
    )
    found = list(rows)
    return url, found, found[-1].run_id if len(ids) > limit else None


def referrers_of(rows: Sequence[Url]) -> dict[int, str]:
    """By a row's id the URL on whose page, or by whose redirect, it was found; seeds were found on
    none.
    """
    urls = dict(
        Url.objects.filter(pk__in=[row.via for row in rows if row.via is not None]).values_list(
            "pk", "url"
        )
    )
    return {row.pk: urls[row.via] for row in rows if row.via in urls}
