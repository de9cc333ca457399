"""Send due alerts to listeners, by webhook (signed, to a permitted address) or by e-mail (through
the mail server of MAIL_URL), and retry those that failed.

No transaction is open during a request.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection
from datetime import timedelta
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.utils import timezone
from requests.exceptions import RequestException

from crawling.base.encrypted_text import SealBroken
from crawling.installation.identity import allowed_networks, identity
from crawling.installation.pools import WEBHOOK_KIB_PER_SECOND
from crawling.uses.alerts.models import Delivery
from crawling.uses.alerts.notify import enabled_listeners
from crawling.uses.alerts.wording import (
    address_of_mailbox,
    body_of,
    is_mailbox,
    mail_text,
    next_attempt_time,
    signature,
)
from crawling.web.addresses import read_address
from crawling.web.fetch.adapter import PinnedRequest, PinnedSession
from crawling.web.fetch.budgets import Bandwidth
from crawling.web.fetch.transfer_errors import fetch_status_of_fault
from crawling.web.vetting import vet
from dnscache.resolver import resolve

ANSWER_SECONDS = 10.0
ANSWER_BYTES = 64 * 1024
logger = logging.getLogger(__name__)

#: the time that a sender has for a delivery; after that another sender may reserve it
TAKEN_FOR = timedelta(minutes=2)
#: the most deliveries that a round sends
ROUND = 50
#: the number of deliveries that are kept for each listener
KEPT = 1000


def deliver_by_mail(delivery: Delivery) -> tuple[str, bool]:
    """Send a delivery by mail. Return a sentence, and whether the mail server has accepted it.

    A second attempt has the same Message-ID, so that readers see only one message.
    """
    if not settings.EMAIL_HOST:
        return "Not sent: no mail server is set (MAIL_URL).", False
    to = address_of_mailbox(delivery.listener.address)
    subject, text = mail_text(json.loads(delivery.body))
    host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip(">")
    headers = {"Message-ID": f"<delivery-{delivery.pk}@{host}>", "Auto-Submitted": "auto-generated"}
    try:
        with get_connection() as connection:
            EmailMessage(subject, text, to=[to], headers=headers, connection=connection).send()
    except SMTPRecipientsRefused as error:
        refusals = "; ".join(
            f"{code} {_decoded_answer(answer)}" for code, answer in error.recipients.values()
        )
        return f"Refused by the mail server: {refusals}", False
    except SMTPResponseException as error:
        return (
            f"Refused by the mail server: {error.smtp_code} {_decoded_answer(error.smtp_error)}",
            False,
        )
    except (SMTPException, OSError) as error:
        return (
            f"Not sent: the mail server {settings.EMAIL_HOST}:{settings.EMAIL_PORT} cannot be "
            f"used ({error}).",
            False,
        )
    except ValueError:  # smtplib's own exception: its text would contain a part of the password
        return (
            f"Not sent: the mail server {settings.EMAIL_HOST} is logged in at in ASCII only; "
            "give MAIL_URL such a user and password.",
            False,
        )
    return "Taken by the mail server.", True


def _decoded_answer(answer: bytes | str) -> str:
    return answer.decode(errors="replace") if isinstance(answer, bytes) else answer


def deliver_by_post(
    session: PinnedSession, delivery: Delivery, line: Bandwidth
) -> tuple[str, bool]:
    """Send a delivery to a webhook. Return a sentence, and whether it has arrived.

    Redirects are not followed, since the signature is meant for one address. line: limits the
    bandwidth.
    """
    address = read_address(delivery.listener.url)
    resolution = resolve(address.hostname)
    vetted = vet(
        resolution.addresses,
        address.port,
        allowed=allowed_networks(),
        forbidden=settings.OWN_SERVICES,
    )
    if not vetted.permitted:
        return f"Not sent: {vetted.reason}.", False
    try:
        secret = delivery.listener.secret
    except SealBroken as error:
        return f"Not sent: {error}", False
    body = body_of(delivery.listener.message_format, delivery.body)
    timestamp = int(timezone.now().timestamp())
    headers = {
        "User-Agent": identity().user_agent,
        "Content-Type": "application/json",
        "X-Crawlsite-Event": delivery.event,
        "X-Crawlsite-Delivery": str(delivery.pk),
        "X-Crawlsite-Timestamp": str(timestamp),
        "X-Crawlsite-Signature": signature(secret, timestamp, body),
    }
    target = vetted.permitted[0]
    try:
        request = PinnedRequest(
            address.url,
            address=target,
            headers=headers,
            method="POST",
            body=body,
            # keeps within the rate for webhooks
            received=lambda count: time.sleep(line.take(count)),
        )
        time.sleep(line.take(len(body)))  # the same for sent bytes; only this delivery waits
        with session.send(request) as response:
            return f"Answered {response.status_code}.", 200 <= response.status_code < 300
    except RequestException as error:
        return f"Not sent: {fetch_status_of_fault(error).sentence.rstrip('.')}.", False


def send_due_deliveries(*, goes_on: Callable[[], bool] = lambda: True) -> int:
    """Send due deliveries, each at least once. Return the number of deliveries that were tried.
    goes_on: called after each delivery; if it returns false, the remaining ones stay due.

    After a failure the listener is skipped for the rest of the round, so that its time-outs do not
    delay others.
    """
    count, troubled = 0, set[int]()
    line = Bandwidth(1024 * WEBHOOK_KIB_PER_SECOND)
    with PinnedSession(answer_seconds=ANSWER_SECONDS, answer_bytes=ANSWER_BYTES) as session:
        while count < ROUND and (not count or goes_on()) and (delivery := _reserve_next(troubled)):
            count += 1
            outcome, arrived = (
                deliver_by_mail(delivery)
                if is_mailbox(delivery.listener.address)
                else deliver_by_post(session, delivery, line)
            )
            _store_outcome(delivery, outcome, arrived=arrived)
            if not arrived:
                troubled.add(delivery.listener_id)
    return count


@transaction.atomic
def _reserve_next(troubled: Collection[int]) -> Delivery | None:
    """Reserve the next delivery, so that no other sender takes it.

    This counts as a try, even if the try kills this process. After the last try the delivery is no
    longer due.
    """
    now = timezone.now()
    due = (
        Delivery.objects.filter(next_try_at__lte=now, listener__in=enabled_listeners())
        .exclude(listener__in=troubled)
        .order_by("next_try_at")
    )
    rows = due.select_for_update(of=("self",), skip_locked=True)
    delivery = rows.select_related("listener__user").first()
    if delivery:
        delivery.attempts += 1
        delivery.next_try_at = (
            now + TAKEN_FOR if next_attempt_time(delivery.attempts, now) else None
        )
        delivery.outcome = (
            "Nothing is known of the last attempt: it has just begun, or was cut off."
        )
        delivery.save(update_fields=["attempts", "next_try_at", "outcome"])
    return delivery


def _store_outcome(delivery: Delivery, outcome: str, *, arrived: bool) -> None:
    now = timezone.now()
    next_try_at = None if arrived else next_attempt_time(delivery.attempts, now)
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
        extra={"listener": str(delivery.listener), "of": delivery.event, "outcome": outcome},
    )
