"""Make a crawl once, however often a program sends its request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError

from crawling.crawls.creation import create_crawl, digest_of
from crawling.errors import BadOrder, KeyReused
from crawling.models import CrawlJob


def create_idempotently(
    fields: Mapping[str, Any], *, by: User, idempotency_key: str
) -> tuple[CrawlJob, bool]:
    """Create a crawl, or return the one that this user's request of that key has made; the second
    value is true for a new one.

    Raises KeyReused if that request asked for something else, and what `create_crawl` raises.
    Without a key, always a new one.
    """
    if made := _made(fields, by, idempotency_key):
        return made, False
    try:
        return create_crawl(fields, by=by, idempotency_key=idempotency_key), True
    except (BadOrder, IntegrityError):
        # The same request may have come twice at once: then the other has taken the name, or the
        # key.
        if made := _made(fields, by, idempotency_key):
            return made, False
        raise


def _made(fields: Mapping[str, Any], by: User, key: str) -> CrawlJob | None:
    made = CrawlJob.objects.filter(created_by=by, idempotency_key=key).first() if key else None
    if made and made.idempotency_digest != digest_of(fields):
        raise KeyReused(
            f"The key {key!r} has made crawl {made.pk} from another order; a new order needs a "
            "new key."
        )
    return made
