"""The captures of an address by years, months and days, in the zone that is active."""

from __future__ import annotations

from calendar import Calendar
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db import connection
from django.utils.timezone import localtime

from crawling.models import Page
from crawling.web.addresses import fingerprints

#: run by run, so that each look is one step down the index of a run's fingerprints
FIND = """
SELECT p.url_id FROM crawling_run r
CROSS JOIN LATERAL (
    SELECT id, url FROM crawling_url WHERE run_id = r.id AND fingerprint = ANY(%s)
) u
JOIN crawling_page p ON p.url_id = u.id AND p.archive_file_id IS NOT NULL
WHERE u.url = %s AND r.removal_asked_at IS NULL AND (%s::bigint IS NULL OR r.crawl_id = %s)
ORDER BY r.id DESC LIMIT %s
"""
#: the latest ones of an address that are counted
MOST = 2000


@dataclass(frozen=True)
class CalendarDay:
    day: date
    #: of the month that it stands in; other days fill its weeks
    is_of_month: bool
    count: int


@dataclass(frozen=True)
class CalendarMonth:
    first: date
    count: int
    weeks: Sequence[Sequence[CalendarDay]]


@dataclass(frozen=True)
class DatedCapture:
    page: Page
    #: the one before it of the same crawl
    before: Page | None

    @property
    def is_changed(self) -> bool:
        """Whether its content differs from that of the one before it."""
        return self.before is not None and self.before.fingerprint != self.page.fingerprint


def captures_of(url: str, *, crawl: int | None = None) -> list[Page]:
    """The stored answers of a canonical URL, the earliest first."""
    with connection.cursor() as cursor:
        cursor.execute(FIND, [fingerprints(url), url, crawl, crawl, MOST])
        ids = [row[0] for row in cursor.fetchall()]
    found = Page.objects.filter(pk__in=ids).select_related("url", "run__crawl")
    return list(found.order_by("fetched_at", "pk"))


def neighbours_of(page: Page) -> tuple[Page | None, Page | None, int, int]:
    """The capture before and after a page's in its crawl, its place among them, and their number;
    a page that was not archived has the place 0.
    """
    found = captures_of(page.url.url, crawl=page.run.crawl_id)
    at = next((at for at, one in enumerate(found) if one.pk == page.pk), None)
    if at is None:
        return None, None, 0, len(found)
    following = found[at + 1] if at + 1 < len(found) else None
    return (found[at - 1] if at else None), following, at + 1, len(found)


def years_of(captures: Sequence[Page]) -> list[tuple[int, int]]:
    """Each year with the number of its captures, the first one first."""
    counts = Counter(_day(one.fetched_at).year for one in captures)
    return [(year, counts[year]) for year in range(min(counts), max(counts) + 1)] if counts else []


def months_of(captures: Sequence[Page], year: int) -> list[CalendarMonth]:
    counts = Counter(_day(one.fetched_at) for one in captures)
    return [_month(date(year, month, 1), counts) for month in range(1, 13)]


def captures_on(captures: Sequence[Page], day: date) -> list[DatedCapture]:
    latest = dict[int, Page]()
    found = list[DatedCapture]()
    for one in captures:
        if _day(one.fetched_at) == day:
            found.append(DatedCapture(one, latest.get(one.run.crawl_id)))
        latest[one.run.crawl_id] = one
    return found


def _month(first: date, counts: Counter[date]) -> CalendarMonth:
    weeks = [
        [CalendarDay(day, day.month == first.month, counts[day]) for day in week]
        for week in Calendar().monthdatescalendar(first.year, first.month)
    ]
    total = sum(one.count for week in weeks for one in week if one.is_of_month)
    return CalendarMonth(first, total, weeks)


def _day(at: datetime) -> date:
    return localtime(at).date()
