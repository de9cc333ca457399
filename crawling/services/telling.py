"""Tell webhooks what became of a run: written in the transaction of the event itself, so that none is told of what never was."""

from __future__ import annotations

import json

from django.utils import timezone

from crawling.models import Delivery, Run, Webhook
from crawling.rules.webhooks import Event


def tell(run: Run, event: Event, sentence: str) -> None:
    """Leave a delivery for each webhook that wants to know. Call it in the transaction that makes it true."""
    webhooks = list(Webhook.objects.filter(is_on=True, events__contains=[event]))
    if not webhooks:
        return
    now = timezone.now()
    crawl = run.crawl
    facts = {"event": event, "crawl": crawl.pk, "name": crawl.name, "run": run.number, "sentence": sentence, "at": now.isoformat()}
    Delivery.objects.bulk_create(
        Delivery(webhook=webhook, crawl=crawl, event=event, body=json.dumps(facts), next_try_at=now) for webhook in webhooks
    )
