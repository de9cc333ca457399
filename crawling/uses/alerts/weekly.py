"""Weekly summaries: what changed in all crawls, or in one, for each listener that has chosen them.
A week ends on Monday morning, in the time zone of the account that made the listener.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from crawling.base.alert_events import AlertEvent
from crawling.runs.week import CrawlWeek, weeks
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.notify import CRAWL_PAGE, body_of_event

#: on Monday, so that it is there when people come to work
HOUR = 7
#: crawls that a summary names; those with most news first
MOST_CRAWLS = 50
HOME_PAGE, ALL = "/", "all crawls"


def leave_summaries() -> None:
    """Leave a delivery for each listener whose week has ended. Of several schedulers one does so;
    a week that has passed meanwhile is told late, and once.
    """
    now = timezone.now()
    shown = Q(crawl=None) | Q(crawl__removal_asked_at=None)
    asked = Listener.objects.filter(shown, is_on=True, events__contains=[AlertEvent.WEEK])
    for listener in asked.select_related("created_by__preference", "crawl"):
        end = week_end(now, _zone(listener))
        if listener.week_told_at is None or listener.week_told_at < end:
            _leave(listener, end)


def week_end(now: datetime, zone: ZoneInfo) -> datetime:
    """The latest end of a week."""
    local = now.astimezone(zone)
    monday = local - timedelta(days=local.weekday())
    end = monday.replace(hour=HOUR, minute=0, second=0, microsecond=0)
    return end if end <= local else end - timedelta(days=7)


def _zone(listener: Listener) -> ZoneInfo:
    # an account without a choice has no row
    chosen = getattr(listener.created_by, "preference", None)
    return ZoneInfo(chosen.time_zone if chosen else "UTC")


@transaction.atomic
def _leave(listener: Listener, end: datetime) -> None:
    """Leave a delivery unless another scheduler has: of two at once the second waits for the row,
    and finds it changed.
    """
    due = Listener.objects.filter(Q(week_told_at=None) | Q(week_told_at__lt=end), pk=listener.pk)
    if not due.update(week_told_at=end):
        return
    crawl, now = listener.crawl, timezone.now()
    facts = {"name": crawl.name if crawl else ALL, **summary(listener, end)}
    page = CRAWL_PAGE.format(crawl.pk) if crawl else HOME_PAGE
    Delivery.objects.create(
        listener=listener,
        crawl=crawl,
        event=AlertEvent.WEEK,
        body=body_of_event(AlertEvent.WEEK, facts, page, now),
        next_try_at=now,
    )


def summary(listener: Listener, end: datetime) -> dict[str, Any]:
    """The facts: a sentence, and a line for each crawl with its changes and their pages."""
    found, others = weeks(end, crawl=listener.crawl, most=MOST_CRAWLS)
    changed = sum(bool(one.changes) for one in found)
    crawls = f"{len(found) + others:,} crawl{'s' * (len(found) + others != 1)}"
    until = end.astimezone(_zone(listener))
    sentence = f"In the week until {until:%Y-%m-%d %H:%M %Z} "
    if not found:
        sentence += "no run ended."
    elif changed:
        sentence += f"something changed in {changed:,} of {crawls}."
    else:
        sentence += f"no watched page changed, and no link broke or was fixed, in {crawls}."
    if others:
        sentence += f" {others:,} with fewer changes are not listed."
    return {"sentence": sentence, "lines": [line for one in found for line in _lines(one)]}


def _lines(week: CrawlWeek) -> list[dict[str, str]]:
    first = _line(f"{week.name}: {week.words}", CRAWL_PAGE.format(week.crawl))
    return [first, *(_line(f"– {one.words}", one.address) for one in week.changes)]


def _line(text: str, page: str) -> dict[str, str]:
    link = {"page": settings.PUBLIC_URL + page} if settings.PUBLIC_URL else {}
    return {"text": text, **link}
