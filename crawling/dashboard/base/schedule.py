"""Schedules as pages and JSON show them: the schedule of a crawl, and the list of all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from crawling.models import CrawlJob, Schedule, ScheduledStart
from crawling.orders.schedules import ScheduleTiming, read_timing
from serving.listing.columns import Column
from serving.paging import cut_to_limit

UPCOMING, STARTS = 5, 20
#: the number of next starts that a form shows
PREVIEWED = 3


@dataclass(frozen=True)
class NextStarts:
    #: the time zone; the account's zone if the schedule has none
    zone: str
    #: the account's zone, if its clock shows other times; otherwise empty
    own_zone: str
    #: the times of starts in `zone` and in `own_zone`
    times: Sequence[tuple[datetime, datetime]]
    #: minutes over which the starts of several crawls are spread
    over_minutes: int = 0

    @property
    def rows(self) -> list[list[tuple[datetime, datetime]]]:
        """For each start, the times of the first and of the last crawl, in each zone shown."""
        span = timedelta(minutes=self.over_minutes)
        shown = 2 if self.own_zone else 1
        return [[(time, time + span) for time in pair[:shown]] for pair in self.times]

    @classmethod
    def of(cls, timing: ScheduleTiming, times: Sequence[datetime]) -> NextStarts:
        own = timezone.get_current_timezone()
        zone = ZoneInfo(timing.time_zone) if timing.cron else own
        pairs = [(time.astimezone(zone), time.astimezone(own)) for time in times]
        is_same = all(there.utcoffset() == here.utcoffset() for there, here in pairs)
        return cls(str(zone), "" if is_same else str(own), pairs)


@dataclass(frozen=True)
class Plan:
    #: the schedule's own fields
    timing: dict[str, Any]
    in_words: str
    #: the next starts, in the schedule's time zone
    upcoming: Sequence[datetime]
    starts: Sequence[ScheduledStart]
    #: the current interval, in minutes, of a schedule that follows changes
    pace_minutes: int | None
    shown: NextStarts | None


def plan_of(crawl: CrawlJob) -> Plan | None:
    """The crawl's plan. None if the crawl is only started by hand."""
    schedule = Schedule.objects.filter(crawl=crawl).first()
    return plan_in(schedule) if schedule else None


def plan_in(schedule: Schedule, *, with_starts: bool = True) -> Plan:
    """The plan of a schedule. with_starts: whether to add the results of its last starts, which
    takes a query.
    """
    timing, _ = read_timing(schedule.timing)
    upcoming = (
        timing.upcoming(timezone.now(), schedule.anchor_at, UPCOMING)
        if timing and schedule.next_at
        else []
    )
    if schedule.pace_minutes is not None and schedule.next_at:
        upcoming = [schedule.next_at]  # the later starts depend on the result of that run
    starts = list(schedule.starts.select_related("run")[:STARTS]) if with_starts else []
    words = timing.in_words if timing else "Unreadable"
    shown = NextStarts.of(timing, upcoming) if timing else None
    return Plan(schedule.timing, words, upcoming, starts, schedule.pace_minutes, shown)


def schedule_texts(crawls: Collection[int]) -> dict[int, str]:
    """The schedules of the crawls with these ids, in words. Crawls without a schedule are left
    out.
    """
    rows = Schedule.objects.filter(crawl__in=crawls).values_list("crawl", "timing")
    return {crawl: schedule_text(timing) for crawl, timing in rows}


def schedule_text(stored: Mapping[str, Any]) -> str:
    timing, _ = read_timing(stored)
    if timing is None:
        return "Unreadable"
    return timing.in_words if timing.is_on else f"{timing.in_words} (disabled)"


def preview_schedule(
    fields: Mapping[str, Any], *, over_minutes: int = 0
) -> tuple[ScheduleTiming | None, NextStarts | None]:
    """The timing of an unsaved schedule, and the starts that it would cause. Both are None if it is
    invalid.
    """
    timing, _ = read_timing(fields)
    if timing is None:
        return None, None
    now = timezone.now()
    starts = NextStarts.of(timing, timing.upcoming(now, now, PREVIEWED))
    return timing, replace(starts, over_minutes=over_minutes)


@dataclass(frozen=True)
class ScheduledCrawl:
    crawl: int
    name: str
    in_words: str
    next_at: Annotated[datetime | None, Column("null: disabled")]
    last_outcome: Annotated[str, Column("result of the last start; empty: none")]
    last_due_at: datetime | None


def scheduled_crawls(*, after: int = 0, limit: int) -> tuple[list[ScheduledCrawl], int | None]:
    """The crawls with schedules, the next start first and disabled schedules last, and the place
    where the list continues.

    after: the number of schedules before this page.
    """
    latest = ScheduledStart.objects.filter(schedule=OuterRef("pk")).order_by("-due_at")
    rows = (
        Schedule.objects.filter(crawl__in=CrawlJob.objects.all())
        .select_related("crawl")
        .annotate(
            last_outcome=Subquery(latest.values("outcome")[:1]),
            last_due_at=Subquery(latest.values("due_at")[:1]),
        )
        .order_by(F("next_at").asc(nulls_last=True), "pk")[after : after + limit + 1]
    )
    found, _ = cut_to_limit(list(rows), limit, lambda row: row.pk)
    following = after + limit if len(rows) > limit else None
    return [_scheduled(row) for row in found], following


def _scheduled(row: Any) -> ScheduledCrawl:
    timing, _ = read_timing(row.timing)
    words = timing.in_words if timing else "Unreadable"
    return ScheduledCrawl(
        row.crawl_id, row.crawl.name, words, row.next_at, row.last_outcome or "", row.last_due_at
    )
