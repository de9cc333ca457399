"""Notify listeners of events. Deliveries are written in the event's own transaction, so that no
alert is sent for an event that was rolled back.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from crawling.alerts.wording import TEST_EVENT, AlertEvent
from crawling.models import CrawlJob, Delivery, Listener, Run

#: to reverse them, all of the site's views would be loaded, which takes a second of the processor:
#: in the transaction of a start that holds the run's lock, and more than it may take on a machine
#: that has much to do
CRAWL_PAGE, POOL_PAGE, LISTENER_PAGE = "/crawls/{}/", "/resources/{}/", "/alerts/{}/"


def notify_listeners(run: Run, event: AlertEvent, sentence: str) -> None:
    """Add a delivery for each listener of the run's events.

    Call it in the event's transaction.
    """
    crawl = run.crawl
    page = CRAWL_PAGE.format(crawl.pk)
    _leave(
        event,
        {"crawl": crawl.pk, "name": crawl.name, "run": run.number, "sentence": sentence},
        page,
        crawl,
    )


def notify_of_bank(pool: int, name: str, sentence: str) -> None:
    """Add a delivery for each listener of unsafe pools."""
    _leave(
        AlertEvent.UNSAFE,
        {"pool": pool, "name": name, "sentence": sentence},
        POOL_PAGE.format(pool),
        None,
    )


def leave_test_delivery(listener: Listener, sender: str) -> Delivery:
    """Leave a delivery for one listener that says it is a test, whatever its events are."""
    now = timezone.now()
    facts = {"name": listener.name, "sentence": f"This is a test, sent by {sender}."}
    body = _body(TEST_EVENT, facts, LISTENER_PAGE.format(listener.pk), now)
    return Delivery.objects.create(listener=listener, event=TEST_EVENT, body=body, next_try_at=now)


def _leave(event: AlertEvent, facts: dict[str, Any], page: str, crawl: CrawlJob | None) -> None:
    listeners = list(Listener.objects.filter(is_on=True, events__contains=[event]))
    if not listeners:
        return
    now = timezone.now()
    body = _body(event, facts, page, now)
    Delivery.objects.bulk_create(
        Delivery(listener=listener, crawl=crawl, event=event, body=body, next_try_at=now)
        for listener in listeners
    )


def _body(event: str, facts: dict[str, Any], page: str, now: datetime) -> str:
    link = {"page": settings.PUBLIC_URL + page} if settings.PUBLIC_URL else {}
    return json.dumps({"event": event, **facts, "at": now.isoformat(), **link})
