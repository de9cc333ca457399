"""The captures of an address by year, month and day, in the active time zone."""

from __future__ import annotations

from calendar import Calendar
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.utils.timezone import localtime

from crawling.archive.captures import captures_of
from crawling.models import Page


@dataclass(frozen=True)
class CalendarDay:
    day: date
    #: whether the day is in the month; other days fill the month's first and last weeks
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
    #: the previous capture of the same crawl
    before: Page | None
    #: a capture of another crawl between the two; None if there is none
    elsewhere: Page | None

    @property
    def is_changed(self) -> bool:
        """Whether the content differs from that of the previous capture."""
        return self.before is not None and self.before.fingerprint != self.page.fingerprint


def neighbours_of(page: Page) -> tuple[Page | None, Page | None, int, int]:
    """The captures of the same crawl before and after a page, the number of the page among all of
    them, and their count. A page that was not archived has the number 0.
    """
    found = captures_of(page.url.url, crawls=[page.run.crawl_id])
    at = next((at for at, one in enumerate(found) if one.pk == page.pk), None)
    if at is None:
        return None, None, 0, len(found)
    following = found[at + 1] if at + 1 < len(found) else None
    return (found[at - 1] if at else None), following, at + 1, len(found)


def years_of(captures: Sequence[Page]) -> list[tuple[int, int]]:
    """Each year with the number of its captures, the earliest year first."""
    counts = Counter(_local_day(one.fetched_at).year for one in captures)
    return [(year, counts[year]) for year in range(min(counts), max(counts) + 1)] if counts else []


def months_of(captures: Sequence[Page], year: int) -> list[CalendarMonth]:
    counts = Counter(_local_day(one.fetched_at) for one in captures)
    return [_calendar_month(date(year, month, 1), counts) for month in range(1, 13)]


def captures_of_day(captures: Sequence[Page], day: date) -> list[DatedCapture]:
    latest, last = dict[int, Page](), None
    found = list[DatedCapture]()
    for one in captures:
        before = latest.get(one.run.crawl_id)
        if _local_day(one.fetched_at) == day:
            found.append(DatedCapture(one, before, None if last is before else last))
        latest[one.run.crawl_id] = last = one
    return found


def _calendar_month(first: date, counts: Counter[date]) -> CalendarMonth:
    weeks = [
        [CalendarDay(day, day.month == first.month, counts[day]) for day in week]
        for week in Calendar().monthdatescalendar(first.year, first.month)
    ]
    total = sum(one.count for week in weeks for one in week if one.is_of_month)
    return CalendarMonth(first, total, weeks)


def _local_day(at: datetime) -> date:
    return localtime(at).date()
