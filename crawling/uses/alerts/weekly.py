"""Weekly summaries: the changes in all crawls, in one, or in those of a user, for each listener
that has asked for them. A week ends on Monday morning, in the time zone of the listener's user.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from crawling.base.alert_events import AlertEvent
from crawling.installation.permissions import crawls_of_user
from crawling.models import CrawlJob
from crawling.orders.schedules import UTC_ZONE, zone_named
from crawling.runs.week import CrawlWeek, CrawlWeeks
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.notify import CRAWL_PAGE, body_of_event, enabled_listeners

#: the hour on Monday: the summary has arrived when people begin to work
HOUR = 7
#: the most crawls that a summary names; crawls with the most news come first
MOST_CRAWLS = 50
HOME_PAGE, ALL, OWN = "/", "all crawls", "your crawls"
#: the permission without which a user gets no summary
NEEDS = "crawling.view_crawljob"
CHOICE = "You chose this letter under Preferences"
CHOICE_PAGE = "/account/preferences/#weekly-summary"


def add_due_summaries() -> int:
    """Add a delivery for each listener whose week has ended. Return the number of deliveries. A
    missed week is reported late, but once. The crawls of a week are read once for all listeners.
    """
    left, weeks = 0, dict[datetime, CrawlWeeks]()
    for listener, end in due_summaries(timezone.now()):
        if end not in weeks:
            weeks[end] = CrawlWeeks(end)
        left += _add_delivery(listener, end, weeks[end])
    return left


def due_summaries(now: datetime) -> Iterator[tuple[Listener, datetime]]:
    """Listeners without a summary of the latest week, each with the week's end."""
    shown = Q(crawl=None) | Q(crawl__removal_asked_at=None)
    asked = enabled_listeners().filter(shown, events__contains=[AlertEvent.WEEK])
    accounts = ("user__preference", "created_by__preference", "crawl")
    for listener in asked.select_related(*accounts):
        end = week_end(now, zone_of_listener(listener))
        is_due = listener.week_told_at is None or listener.week_told_at < end
        if is_due and (listener.user is None or listener.user.has_perm(NEEDS)):
            yield listener, end


def week_end(now: datetime, zone: ZoneInfo) -> datetime:
    """The latest end of a week."""
    local = now.astimezone(zone)
    monday = local - timedelta(days=local.weekday())
    end = monday.replace(hour=HOUR, minute=0, second=0, microsecond=0)
    return end if end <= local else end - timedelta(days=7)


def zone_of_listener(listener: Listener) -> ZoneInfo:
    """The time zone of an account. UTC if the account has none, or an invalid one."""
    return zone_named(zone_name(listener)) or UTC_ZONE


def zone_name(listener: Listener) -> str:
    """the zone of the account"""
    # an account without preferences has no row
    chosen = getattr(listener.account, "preference", None)
    return chosen.time_zone if chosen else "UTC"


@transaction.atomic
def _add_delivery(listener: Listener, end: datetime, week: CrawlWeeks) -> bool:
    """Add a delivery, unless another process has added it. A second process at the same moment
    waits for the listener's row and finds it changed.
    """
    due = Listener.objects.filter(Q(week_told_at=None) | Q(week_told_at__lt=end), pk=listener.pk)
    if not due.update(week_told_at=end):
        return False
    crawl, now = listener.crawl, timezone.now()
    facts = summary_facts(listener, end, week)
    page = CRAWL_PAGE.format(crawl.pk) if crawl else HOME_PAGE
    Delivery.objects.create(
        listener=listener,
        crawl=crawl,
        event=AlertEvent.WEEK,
        body=body_of_event(AlertEvent.WEEK, facts, page, now),
        next_try_at=now,
    )
    return True


def summary_facts(listener: Listener, end: datetime, week: CrawlWeeks) -> dict[str, Any]:
    """The facts of a summary: a sentence, and a line for each crawl with its changes and their
    pages.
    """
    name = OWN if listener.user else listener.crawl.name if listener.crawl else ALL
    found, others = week.of(_crawls_of(listener), most=MOST_CRAWLS)
    changed = sum(bool(one.changes) for one in found)
    crawls = f"{len(found) + others:,} crawl{'s' * (len(found) + others != 1)}"
    until = end.astimezone(zone_of_listener(listener))
    sentence = f"In the week until {until:%Y-%m-%d %H:%M %Z} "
    if not found:
        sentence += "no run ended." if listener.user is None else "no run of your crawls ended."
    elif changed:
        sentence += f"something changed in {changed:,} of {crawls}."
    elif any(one.pending for one in found):
        sentence += f"not all of {crawls} are compared yet; no change is known."
    else:
        sentence += f"no watched page changed, and no link broke or was fixed, in {crawls}."
    if others:
        sentence += f" {others:,} with fewer changes are not listed."
    lines = [line for one in found for line in _lines_of_crawl(one)]
    lines += [{"text": ""}, _line_with_link(CHOICE, CHOICE_PAGE)] if listener.user else []
    return {"name": name, "sentence": sentence, "lines": lines}


def _crawls_of(listener: Listener) -> Collection[int] | None:
    """The ids of the crawls in the summary; None for all."""
    if listener.user:
        own = CrawlJob.objects.filter(crawls_of_user(listener.user))
        return set(own.values_list("pk", flat=True))
    return None if listener.crawl is None else {listener.crawl.pk}


def _lines_of_crawl(week: CrawlWeek) -> list[dict[str, str]]:
    first = _line_with_link(f"{week.name}: {week.words}", CRAWL_PAGE.format(week.crawl))
    changes = [_line_with_link(f"– {one.words}", one.address) for one in week.changes]
    return [first, *changes, *({"text": f"– {sentence}"} for sentence in week.unchecked)]


def _line_with_link(text: str, page: str) -> dict[str, str]:
    link = {"page": settings.PUBLIC_URL + page} if settings.PUBLIC_URL else {}
    return {"text": text, **link}
