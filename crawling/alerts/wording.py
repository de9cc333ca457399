"""The events of alerts, their words, their signature, and the times of retries."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from crawling.alerts.message_formats import MessageFormat, subject_of
from crawling.orders.fields import ONE_LINE
from crawling.orders.order import sentence_for
from crawling.web.addresses import WEB, BadUrl, read_address

#: how long to wait after the first failure, the second, ...; after the last a delivery is given up
WAITS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 720))

#: one address as SMTP takes it unquoted; what else it may be is for the mail server to say
MAILBOX = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,253}")


class AlertEvent(StrEnum):
    """The events of a run or of a pool."""

    STARTED = "started"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    TROUBLE = "trouble"  # it paused or stopped by itself
    WAITING = "waiting"  # it has waited for resources for longer than its order allows in silence
    UNSAFE = "unsafe"  # of a pool: its state is not safe, or units are missing


#: the event of a delivery that an administrator sends to see whether it arrives
TEST_EVENT = "test"


class ListenerOrder(BaseModel):
    """A checked listener. Its url is that of a webhook (http, https), or a mailbox (mailto:)."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=ONE_LINE)]
    url: Annotated[str, Field(max_length=2000)]
    events: Annotated[list[AlertEvent], Field(min_length=1, max_length=len(AlertEvent))]
    #: of a webhook; a mailbox is sent a letter
    message_format: MessageFormat = MessageFormat.JSON
    is_on: bool = True

    @field_validator("url")
    @classmethod
    def _canonical(cls, url: str) -> str:
        if MAILBOX.fullmatch(url):
            url = f"mailto:{url}"
        if is_mailbox(url):
            if not MAILBOX.fullmatch(mailbox(url)):
                raise ValueError("must be one mailbox, like mailto:crawls@example.org")
            return f"mailto:{mailbox(url)}"
        try:
            address = read_address(url)
        except BadUrl as error:
            raise ValueError(str(error)) from error
        if address.scheme not in WEB:
            raise ValueError(f"must begin with http://, https:// or mailto:, not {address.scheme}:")
        return address.url

    @field_validator("events")
    @classmethod
    def _each_once(cls, events: list[AlertEvent]) -> list[AlertEvent]:
        return list(dict.fromkeys(events))


def read_listener(fields: Mapping[str, Any]) -> tuple[ListenerOrder | None, dict[str, str]]:
    """Return the listener, or None and a sentence by field."""
    try:
        return ListenerOrder.model_validate(dict(fields)), {}
    except ValidationError as error:
        errors: dict[str, str] = {}
        for mistake in error.errors():
            unknown = "is not a field of a listener; these are: " + ", ".join(
                ListenerOrder.model_fields
            )
            sentence = sentence_for(mistake["type"], mistake.get("ctx", {}), mistake["msg"])
            errors.setdefault(
                str(mistake["loc"][0]),
                unknown if mistake["type"] == "extra_forbidden" else sentence,
            )
        return None, errors


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """HMAC-SHA256 over the time and the body, so that an old message cannot be sent again as a new
    one.
    """
    return (
        "sha256=" + hmac.new(secret.encode(), f"{timestamp}.".encode() + body, sha256).hexdigest()
    )


def try_again_at(attempts: int, now: datetime) -> datetime | None:
    """When to try again after so many attempts, the last of them now; None: it is given up."""
    return now + WAITS[attempts - 1] if attempts <= len(WAITS) else None


def is_mailbox(url: str) -> bool:
    return url[:7].lower() == "mailto:"


def mailbox(url: str) -> str:
    """The address behind `mailto:`."""
    return url[7:].strip()


def letter(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Subject and text of an e-mail for the facts of a delivery."""
    page = [f"See {facts['page']}"] if "page" in facts else []
    return f"[crawlsite] {subject_of(facts)}", "\n\n".join(
        [facts["sentence"], *page, f"Event: {facts['event']}, at {facts['at']}."]
    )
