"""Tell listeners what happened: written in the transaction of the event itself, so that none is told of what never was."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from crawling.models import CrawlJob, Delivery, Listener, Run
from crawling.rules.alerts import Event


def tell(run: Run, event: Event, sentence: str) -> None:
    """Leave a delivery for each listener that wants to know of the run. Call it in the transaction that makes it true."""
    crawl = run.crawl
    _leave(event, {"crawl": crawl.pk, "name": crawl.name, "run": run.number, "sentence": sentence}, "crawling:crawl", crawl.pk, crawl)


def tell_of_bank(pool: int, name: str, sentence: str) -> None:
    """Leave a delivery for each listener that wants to know when a bank is not safe."""
    _leave(Event.UNSAFE, {"pool": pool, "name": name, "sentence": sentence}, "allocation:bank", pool, None)


def _leave(event: Event, facts: dict[str, Any], page: str, number: int, crawl: CrawlJob | None) -> None:
    listeners = list(Listener.objects.filter(is_on=True, events__contains=[event]))
    if not listeners:
        return
    now = timezone.now()
    # Addresses are asked for where somebody is told them: the first `reverse` of a process imports every page, under the run's lock.
    body = json.dumps(
        {
            "event": event,
            **facts,
            "at": now.isoformat(),
            **({"page": settings.PUBLIC_URL + reverse(page, args=[number])} if settings.PUBLIC_URL else {}),
        }
    )
    Delivery.objects.bulk_create(
        Delivery(listener=listener, crawl=crawl, event=event, body=body, next_try_at=now) for listener in listeners
    )
