"""Webhooks: a delivery, signed, to a permitted address."""

from __future__ import annotations

import time

from django.conf import settings
from django.utils import timezone
from requests.exceptions import RequestException

from crawling.alerts.message_formats import body_of
from crawling.alerts.wording import signature
from crawling.installation import allowed_networks, identity
from crawling.models import Delivery
from crawling.sealed_text import SealBroken
from crawling.web.addresses import read_address
from crawling.web.fetch.adapter import PinnedRequest, PinnedSession
from crawling.web.fetch.bandwidth import Bandwidth
from crawling.web.fetch.transfer_errors import why_not
from crawling.web.vetting import vet
from dnscache.resolver import resolve

ANSWER_SECONDS = 10.0
ANSWER_BYTES = 64 * 1024


def post(session: PinnedSession, delivery: Delivery, line: Bandwidth) -> tuple[str, bool]:
    """A sentence, and whether it has arrived.

    Redirects are not followed: what is signed is meant for one address. line: what is sent and
    received keeps to it.
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
            # the rate of webhooks, in both directions: only this delivery waits
            received=lambda count: time.sleep(line.take(count)),
        )
        time.sleep(line.take(len(body)))
        with session.send(request) as response:
            return f"Answered {response.status_code}.", 200 <= response.status_code < 300
    except RequestException as error:
        return f"Not sent: {why_not(error).sentence.rstrip('.')}.", False
