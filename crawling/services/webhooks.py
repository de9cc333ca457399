"""Webhooks: make, change and remove them, and send what is due. No transaction is open while a server is asked."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, connections, transaction
from django.db.models import F
from django.utils import timezone
from requests import ConnectionError as RequestsConnectionError
from requests import RequestException, Timeout
from requests.exceptions import SSLError

from crawling.access import allowed_networks, identity
from crawling.audit import note
from crawling.errors import BadOrder
from crawling.fetchers.dial import PinnedSession
from crawling.models import Delivery, Webhook
from crawling.rules.addresses import read_address
from crawling.rules.statuses import FetchStatus
from crawling.rules.vetting import vet
from crawling.rules.webhooks import read_webhook, signature, try_again_at
from dnscache.resolver import resolve

logger = logging.getLogger(__name__)

#: whoever has taken a delivery up has so long to send it; then another may
TAKEN_FOR = timedelta(minutes=2)
ANSWER_SECONDS = 10.0
#: deliveries that a round sends at most
ROUND = 50
#: deliveries that are kept for each webhook
KEPT = 1000


def save_webhook(fields: Mapping[str, Any], *, by: User, webhook: Webhook | None = None) -> Webhook:
    """Make a webhook with a secret of its own, or change one. Raises BadOrder with a sentence by field."""
    order, errors = read_webhook(fields)
    if order is None:
        raise BadOrder(errors)
    row = webhook or Webhook(secret=secrets.token_hex(32), created_by=by)
    row.name, row.url, row.events, row.is_on = order.name, order.url, [str(event) for event in order.events], order.is_on
    try:
        with transaction.atomic():
            row.save()
            note(
                by,
                row,
                "changed" if webhook else "created",
                {"url": (None, row.url), "events": (None, row.events), "on": (None, row.is_on)},
            )
    except IntegrityError as error:
        raise BadOrder({"name": f"there is a webhook named {order.name!r} already; choose another name"}) from error
    return row


def remove_webhook(webhook: Webhook, *, by: User) -> None:
    """Remove it with its deliveries, sent or not."""
    with transaction.atomic():
        note(by, webhook, "deleted", {"url": (webhook.url, None)})
        webhook.delete()


def send_again(delivery: Delivery, *, by: User) -> None:
    """Let a delivery be sent once more, from its first attempt on."""
    with transaction.atomic():
        note(by, delivery.webhook, "sent again", {"delivery": (None, delivery.pk)})
        Delivery.objects.filter(pk=delivery.pk).update(attempts=0, next_try_at=timezone.now(), delivered_at=None)


def send_due_deliveries() -> int:
    """What RQ runs."""
    connections.close_all()  # a connection from before the fork belongs to the parent
    return send_due()


def send_due() -> int:
    """Send what is due, each delivery at least once; returns how many were tried."""
    taken = _take()
    with PinnedSession(answer_seconds=ANSWER_SECONDS, answer_bytes=64 * 1024) as session:
        for delivery in taken:
            outcome, arrived = _send(session, delivery)
            _note(delivery, outcome, arrived=arrived)
    return len(taken)


@transaction.atomic
def _take() -> list[Delivery]:
    """Take deliveries up, so that nobody else sends them meanwhile."""
    now = timezone.now()
    due = Delivery.objects.filter(next_try_at__lte=now, webhook__is_on=True).order_by("next_try_at")
    taken = list(due.select_for_update(of=("self",), skip_locked=True).select_related("webhook")[:ROUND])
    Delivery.objects.filter(pk__in=[delivery.pk for delivery in taken]).update(next_try_at=now + TAKEN_FOR, attempts=F("attempts") + 1)
    return taken


def _send(session: PinnedSession, delivery: Delivery) -> tuple[str, bool]:
    """A sentence, and whether it has arrived. Redirects are not followed: what is signed is meant for one address."""
    address = read_address(delivery.webhook.url)
    resolution = resolve(address.hostname)
    vetted = vet(resolution.addresses, address.port, allowed=allowed_networks(), forbidden=settings.OWN_SERVICES)
    if not vetted.permitted:
        return f"Not sent: {vetted.reason}.", False
    body, timestamp = delivery.body.encode(), int(timezone.now().timestamp())
    headers = {
        "User-Agent": identity().user_agent,
        "Content-Type": "application/json",
        "X-Crawlsite-Event": delivery.event,
        "X-Crawlsite-Delivery": str(delivery.pk),
        "X-Crawlsite-Timestamp": str(timestamp),
        "X-Crawlsite-Signature": signature(delivery.webhook.secret, timestamp, body),
    }
    try:
        with session.get_pinned(address.url, address=vetted.permitted[0], headers=headers, method="POST", body=body) as response:
            return f"Answered {response.status_code}.", 200 <= response.status_code < 300
    except RequestException as error:
        return f"Not sent: {_why(error).sentence.rstrip('.')}.", False


def _why(error: RequestException) -> FetchStatus:
    if isinstance(error, SSLError):
        return FetchStatus.TLS_FAILED
    if isinstance(error, Timeout):
        return FetchStatus.TIMED_OUT
    return FetchStatus.CONNECT_FAILED if isinstance(error, RequestsConnectionError) else FetchStatus.BROKEN_ANSWER


def _note(delivery: Delivery, outcome: str, *, arrived: bool) -> None:
    now = timezone.now()
    next_try_at = None if arrived else try_again_at(delivery.attempts + 1, now)
    end = "" if arrived or next_try_at else " Given up."
    Delivery.objects.filter(pk=delivery.pk).update(
        outcome=outcome[:280].replace("\0", "") + end, next_try_at=next_try_at, delivered_at=now if arrived else None
    )
    old = delivery.webhook.deliveries.order_by("-pk").values_list("pk", flat=True)[KEPT:]
    Delivery.objects.filter(pk__in=list(old)).delete()
    logger.info("a webhook was tried", extra={"webhook": delivery.webhook.name, "event": delivery.event, "outcome": outcome})
