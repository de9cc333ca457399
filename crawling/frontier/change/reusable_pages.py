"""Find pages that other crawls have fetched recently."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from crawling.frontier.leases import ClaimedUrl
from crawling.frontier.rules.hotspots import (
    LEAST_COUNT,
    RevisitCheck,
    heat_of_count,
    increased_heat,
    next_check_time,
)
from crawling.frontier.sql_rows import SentRows, read_rows
from crawling.models import HotPage, Page, Run
from crawling.web.addresses import fingerprint


class AskedUrl(NamedTuple):
    id: int
    mark: int
    url: str


WANTED = SentRows("wanted", AskedUrl)
#: run by run, so that each look is one descent of the index of a run's fingerprints
FIND = f"""
SELECT DISTINCT ON (wanted.id) wanted.id, p.url_id
FROM {WANTED}
CROSS JOIN unnest(%(runs)s::bigint[]) AS of(run_id)
JOIN crawling_url u ON u.run_id = of.run_id AND u.fingerprint = wanted.mark AND u.url = wanted.url
JOIN crawling_page p ON p.url_id = u.id
WHERE p.status = 200 AND NOT p.is_personal AND NOT p.is_imported
  AND p.archive_file_id IS NOT NULL AND p.digest IS NOT NULL
  AND p.fetched_at > clock_timestamp() - make_interval(secs => %(seconds)s)
  AND (p.expires_at IS NULL OR p.expires_at > clock_timestamp())
ORDER BY wanted.id, p.fetched_at DESC
"""  # noqa: S608  # constants


def find_fresh_pages(run: Run, claimed: Sequence[ClaimedUrl], *, seconds: float) -> dict[int, Page]:
    """The latest fresh page of another crawl for each URL that has one, by the URL's id.

    A page that its server lets expire sooner is not fresh.

    A crawl that identifies itself by cookies, a login or headers may get personal pages. So it
    neither takes pages of others nor offers its own, whatever its order says later. Pages of an
    imported file are not offered either, since the maker of the file decided their content and
    their time.
    """
    if not claimed or run.crawl.order.fetching.shows_itself:
        return {}
    lately = Q(finished_at=None) | Q(finished_at__gt=timezone.now() - timedelta(seconds=seconds))
    others = (
        Run.objects.filter(lately, started_at__isnull=False)
        .exclude(crawl=run.crawl_id)
        .select_related("crawl")
    )
    runs = [other.pk for other in others if not other.crawl.order.fetching.shows_itself]
    if not runs:
        return {}
    wanted = [AskedUrl(url.id, fingerprint(url.url), url.url) for url in claimed]
    with connection.cursor() as cursor:
        cursor.execute(FIND, WANTED.values(wanted, runs=runs, seconds=seconds))
        found: dict[int, int] = dict(cursor.fetchall())
    pages = Page.objects.select_related("url", "archive_file", "run").in_bulk(found.values())
    return {wanted_id: pages[page_id] for wanted_id, page_id in found.items() if page_id in pages}


#: for each URL, the latest times at which its server was asked, and the page whose record has the
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
#: the most checks that are read; older ones do not matter to a bounded wait
MOST_CHECKS = 20


class PlannedVisit(NamedTuple):
    #: the id of the run's URL
    id: int
    modified_at: datetime | None
    next_at: datetime
    visited_at: datetime
    wait_days: float


#: the planned visits of URLs of a run
PLANNED = """
SELECT mine.id, mine.modified_at, planned.next_at, planned.visited_at, planned.wait_days
FROM crawling_url mine JOIN crawling_plannedrevisit planned
    ON planned.crawl_id = %(crawl)s AND planned.fingerprint = mine.fingerprint
    AND planned.url = mine.url
WHERE mine.id = ANY(%(urls)s)
"""
#: a plan's times are rounded
SAME_VISIT = timedelta(milliseconds=1)


def find_steady_pages(run: Run, url_ids: Collection[int], *, days: int) -> dict[int, Page]:
    """Return pages that are probably unchanged and so need no request yet, by the id of the run's
    URL. days: the longest wait.
    """
    checks, documents = _latest_checks(run, url_ids, most=MOST_CHECKS)
    now, most = timezone.now(), timedelta(days=days)
    steady = [url_id for url_id, some in checks.items() if next_check_time(some, most) > now]
    return _stored_pages({url_id: documents[url_id] for url_id in steady})


def find_pages_not_due(run: Run, url_ids: Collection[int]) -> dict[int, Page]:
    """Pages whose next visit is planned for later, by the id of the run's URL. Left out are pages
    that a sitemap of the run says have changed since their latest visit.
    """
    checks, documents = _latest_checks(run, url_ids, most=1)
    now, waiting = timezone.now(), []
    with connection.cursor() as cursor:
        cursor.execute(PLANNED, {"crawl": run.crawl_id, "urls": list(checks)})
        for row in read_rows(cursor, PlannedVisit):
            (latest,) = checks[row.id]
            if row.modified_at and row.modified_at > latest.at:
                continue
            # the plan does not know of this visit yet
            is_later = latest.at > row.visited_at + SAME_VISIT
            if (latest.at + timedelta(days=row.wait_days) if is_later else row.next_at) > now:
                waiting.append(row.id)
    return _stored_pages({url_id: documents[url_id] for url_id in waiting})


def _latest_checks(
    run: Run, url_ids: Collection[int], *, most: int
) -> tuple[dict[int, list[RevisitCheck]], dict[int, int]]:
    """The latest checks of each URL in earlier runs, and the page that has the document."""
    checks, documents = defaultdict[int, list[RevisitCheck]](list), dict[int, int]()
    if run.number == 1 or not url_ids:
        return checks, documents
    values: dict[str, Any] = {
        "crawl": run.crawl_id,
        "number": run.number,
        "urls": list(url_ids),
        "most": most,
    }
    with connection.cursor() as cursor:
        cursor.execute(CHECKS, values)
        for url_id, at, digest, page in cursor.fetchall():
            checks[url_id].append(RevisitCheck(at, bytes(digest)))
            documents.setdefault(url_id, page)
    return checks, documents


def _stored_pages(wanted: Mapping[int, int]) -> dict[int, Page]:
    pages = Page.objects.select_related("url", "archive_file", "run").in_bulk(wanted.values())
    return {url_id: pages[page] for url_id, page in wanted.items() if page in pages}


def count_requested_pages(pages: Mapping[str, bool], now: datetime) -> None:
    """Count requests of pages by URL; True if another crawl's page was used.

    To be called in a short transaction of its own, since all crawls write here.
    """
    marks = {fingerprint(url): url for url in pages}
    at = now.timestamp()
    with transaction.atomic():
        HotPage.objects.bulk_create(
            (
                HotPage(
                    fingerprint=mark, url=marks[mark], heat=0, wanted=0, reused=0, wanted_at=now
                )
                for mark in sorted(marks)
            ),
            ignore_conflicts=True,
        )
        rows = list(
            HotPage.objects.select_for_update(no_key=True)
            .filter(fingerprint__in=marks)
            .order_by("fingerprint")
        )
        for row in rows:
            row.heat = increased_heat(row.heat if row.wanted else None, at)
            row.wanted, row.reused, row.wanted_at = (
                row.wanted + 1,
                row.reused + pages.get(row.url, False),
                now,
            )
        HotPage.objects.bulk_update(rows, ["heat", "wanted", "reused", "wanted_at"])


def delete_cold_pages(now: datetime) -> None:
    """Delete the counts of pages that are no longer requested."""
    HotPage.objects.filter(heat__lt=heat_of_count(LEAST_COUNT, now.timestamp())).delete()
