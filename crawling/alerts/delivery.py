"""Send due alerts to listeners, and retry those that failed.

No transaction is open during a request.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import timedelta

from django.db import connections, transaction
from django.utils import timezone

from crawling.alerts.mail import mail
from crawling.alerts.webhooks import ANSWER_BYTES, ANSWER_SECONDS, post
from crawling.alerts.wording import is_mailbox, try_again_at
from crawling.default_pool import WEBHOOK_KIB_PER_SECOND
from crawling.models import Delivery
from crawling.web.fetch.adapter import PinnedSession
from crawling.web.fetch.bandwidth import Bandwidth

logger = logging.getLogger(__name__)

#: time that a sender has for a delivery; after it another may take the delivery
TAKEN_FOR = timedelta(minutes=2)
#: deliveries that a round sends at most
ROUND = 50
#: deliveries that are kept for each listener
KEPT = 1000


def send_due_deliveries() -> int:
    """What RQ runs."""
    connections.close_all()  # a connection from before the fork belongs to the parent
    return send_due()


def send_due() -> int:
    """Send what is due, each delivery at least once; returns how many were tried.

    After a failure the listener is skipped for the rest of the round, so that its time-outs do not
    delay others.
    """
    count, troubled = 0, set[int]()
    line = Bandwidth(1024 * WEBHOOK_KIB_PER_SECOND)
    with PinnedSession(answer_seconds=ANSWER_SECONDS, answer_bytes=ANSWER_BYTES) as session:
        while count < ROUND and (delivery := _take(troubled)):
            count += 1
            outcome, arrived = (
                mail(delivery)
                if is_mailbox(delivery.listener.url)
                else post(session, delivery, line)
            )
            _note(delivery, outcome, arrived=arrived)
            if not arrived:
                troubled.add(delivery.listener_id)
    return count


@transaction.atomic
def _take(troubled: Collection[int]) -> Delivery | None:
    """Take the next delivery, so that no other sender takes it.

    A try counts from here, even if this process dies of it; after the last try the delivery is no
    longer due.
    """
    now = timezone.now()
    due = (
        Delivery.objects.filter(next_try_at__lte=now, listener__is_on=True)
        .exclude(listener__in=troubled)
        .order_by("next_try_at")
    )
    delivery = (
        due.select_for_update(of=("self",), skip_locked=True).select_related("listener").first()
    )
    if delivery:
        delivery.attempts += 1
        delivery.next_try_at = now + TAKEN_FOR if try_again_at(delivery.attempts, now) else None
        delivery.outcome = (
            "Nothing is known of the last attempt: it has just begun, or was cut off."
        )
        delivery.save(update_fields=["attempts", "next_try_at", "outcome"])
    return delivery


def _note(delivery: Delivery, outcome: str, *, arrived: bool) -> None:
    now = timezone.now()
    next_try_at = None if arrived else try_again_at(delivery.attempts, now)
    end = "" if arrived or next_try_at else " Given up."
    Delivery.objects.filter(pk=delivery.pk).update(
        outcome=outcome[:280].replace("\0", "") + end,
        next_try_at=next_try_at,
        delivered_at=now if arrived else None,
    )
    old = delivery.listener.deliveries.order_by("-pk").values_list("pk", flat=True)[KEPT:]
    Delivery.objects.filter(pk__in=list(old)).delete()
    logger.info(
        "a listener was told",
        extra={"listener": delivery.listener.name, "of": delivery.event, "outcome": outcome},
    )
