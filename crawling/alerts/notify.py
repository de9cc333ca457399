"""Tell listeners what happened: written in the transaction of the event itself, so that none is
told of what never was.
"""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.utils import timezone

from crawling.alerts.wording import AlertEvent
from crawling.models import CrawlJob, Delivery, Listener, Run

#: to reverse them, all of the site's views would be loaded, which takes a second of the processor:
#: in the transaction of a start that holds the run's lock, and more than it may take on a machine
#: that has much to do
CRAWL_PAGE, BANK_PAGE = "/crawls/{}/", "/bank/{}/"


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
    """Leave a delivery for each listener that wants to know when a bank is not safe."""
    _leave(
        AlertEvent.UNSAFE,
        {"pool": pool, "name": name, "sentence": sentence},
        BANK_PAGE.format(pool),
        None,
    )


def _leave(event: AlertEvent, facts: dict[str, Any], page: str, crawl: CrawlJob | None) -> None:
    listeners = list(Listener.objects.filter(is_on=True, events__contains=[event]))
    if not listeners:
        return
    now = timezone.now()
    body = json.dumps(
        {
            "event": event,
            **facts,
            "at": now.isoformat(),
            **({"page": settings.PUBLIC_URL + page} if settings.PUBLIC_URL else {}),
        }
    )
    Delivery.objects.bulk_create(
        Delivery(listener=listener, crawl=crawl, event=event, body=body, next_try_at=now)
        for listener in listeners
    )
