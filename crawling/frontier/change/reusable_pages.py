"""Find pages that other crawls have fetched lately."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from crawling.frontier.leases import ClaimedUrl
from crawling.models import Page, Run
from crawling.orders.sections.fetching import shows_itself
from crawling.web.addresses import fingerprint

#: run by run, so that each look is one step down the index that knows a run's fingerprints
FIND = """
SELECT DISTINCT ON (wanted.id) wanted.id, p.url_id
FROM unnest(%(ids)s::bigint[], %(marks)s::bigint[], %(urls)s::text[]) AS wanted(id, mark, url)
CROSS JOIN unnest(%(runs)s::bigint[]) AS of(run_id)
JOIN crawling_url u ON u.run_id = of.run_id AND u.fingerprint = wanted.mark AND u.url = wanted.url
JOIN crawling_page p ON p.url_id = u.id
WHERE p.status = 200 AND NOT p.is_personal
  AND p.archive_file_id IS NOT NULL AND p.digest IS NOT NULL
  AND p.fetched_at > clock_timestamp() - make_interval(secs => %(seconds)s)
  AND (p.expires_at IS NULL OR p.expires_at > clock_timestamp())
ORDER BY wanted.id, p.fetched_at DESC
"""


def find_fresh(run: Run, claimed: Sequence[ClaimedUrl], *, seconds: float) -> dict[int, Page]:
    """The latest fresh page of another crawl for each URL that has one, by the URL's id.

    What a server lets expire sooner is not fresh.

    A crawl that shows who it is, by cookies, a login or headers of its own, is shown pages of its
    own: it takes and gives none. What it fetched so stays its own, whatever its order says later.
    """
    if not claimed or shows_itself(run.crawl.fetching):
        return {}
    lately = Q(finished_at=None) | Q(finished_at__gt=timezone.now() - timedelta(seconds=seconds))
    others = (
        Run.objects.filter(lately, started_at__isnull=False)
        .exclude(crawl=run.crawl_id)
        .select_related("crawl")
    )
    runs = [other.pk for other in others if not shows_itself(other.crawl.fetching)]
    if not runs:
        return {}
    wanted: dict[str, Any] = {
        "ids": [url.id for url in claimed],
        "marks": [fingerprint(url.url) for url in claimed],
        "urls": [url.url for url in claimed],
        "runs": runs,
        "seconds": seconds,
    }
    with connection.cursor() as cursor:
        cursor.execute(FIND, wanted)
        found: dict[int, int] = dict(cursor.fetchall())
    pages = Page.objects.select_related("url", "archive_file", "run").in_bulk(found.values())
    return {wanted_id: pages[page_id] for wanted_id, page_id in found.items() if page_id in pages}
