"""A crawl's schedule as pages and JSON show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from crawling.models import CrawlJob, Schedule, ScheduledStart
from crawling.orders.schedules import read_timing

UPCOMING, STARTS = 5, 20


@dataclass(frozen=True)
class Plan:
    """`timing`: the schedule's own fields. `upcoming` are in its time zone."""

    timing: dict[str, Any]
    in_words: str
    upcoming: Sequence[datetime]
    starts: Sequence[ScheduledStart]


def plan_of(crawl: CrawlJob) -> Plan | None:
    """None: it starts by hand only."""
    schedule = Schedule.objects.filter(crawl=crawl).first()
    if schedule is None:
        return None
    timing, _ = read_timing(schedule.timing)
    upcoming = (
        timing.upcoming(timezone.now(), schedule.anchor_at, UPCOMING)
        if timing and schedule.next_at
        else []
    )
    starts = list(schedule.starts.select_related("run")[:STARTS])
    return Plan(schedule.timing, timing.in_words if timing else "Unreadable", upcoming, starts)
