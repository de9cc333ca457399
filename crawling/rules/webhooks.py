"""What webhooks are told, how it is signed, and when it is tried again."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from crawling.rules.addresses import WEB, BadUrl, read_address
from crawling.rules.fields import ONE_LINE
from crawling.rules.orders import sentence_for

#: how long to wait after the first failure, the second, ...; after the last a delivery is given up
WAITS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 720))


class Event(StrEnum):
    """What may be told of a run."""

    STARTED = "started"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    TROUBLE = "trouble"  # it paused by itself


class WebhookOrder(BaseModel):
    """A checked webhook."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=ONE_LINE)]
    url: Annotated[str, Field(max_length=2000, description="http or https; private addresses only if an administrator allowed them")]
    events: Annotated[list[Event], Field(min_length=1, max_length=len(Event))]
    is_on: bool = True

    @field_validator("url")
    @classmethod
    def _canonical(cls, url: str) -> str:
        try:
            address = read_address(url)
        except BadUrl as error:
            raise ValueError(str(error)) from error
        if address.scheme not in WEB:
            raise ValueError(f"must begin with http:// or https://, not {address.scheme}:")
        return address.url

    @field_validator("events")
    @classmethod
    def _each_once(cls, events: list[Event]) -> list[Event]:
        return list(dict.fromkeys(events))


def read_webhook(fields: Mapping[str, Any]) -> tuple[WebhookOrder | None, dict[str, str]]:
    """Return the webhook, or None and a sentence by field."""
    try:
        return WebhookOrder.model_validate(dict(fields)), {}
    except ValidationError as error:
        errors: dict[str, str] = {}
        for mistake in error.errors():
            unknown = "is not a field of a webhook; these are: " + ", ".join(WebhookOrder.model_fields)
            sentence = sentence_for(mistake["type"], mistake.get("ctx", {}), mistake["msg"])
            errors.setdefault(str(mistake["loc"][0]), unknown if mistake["type"] == "extra_forbidden" else sentence)
        return None, errors


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """HMAC-SHA256 over the time and the body, so that an old message cannot be sent again as a new one."""
    return "sha256=" + hmac.new(secret.encode(), f"{timestamp}.".encode() + body, sha256).hexdigest()


def try_again_at(attempts: int, now: datetime) -> datetime | None:
    """When to try again after so many attempts, the last of them now; None: it is given up."""
    return now + WAITS[attempts - 1] if attempts <= len(WAITS) else None
