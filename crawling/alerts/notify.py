"""Tell listeners what happened: written in the transaction of the event itself, so that none is
told of what never was.
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
    """Leave a delivery for each listener that wants to know of the run.

    Call it in the transaction that makes it true.
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
    """Leave a delivery for each listener that wants to know when a pool is not safe."""
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
