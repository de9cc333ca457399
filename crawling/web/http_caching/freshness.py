"""What an answer's headers say of its age and use: when it was changed, how long it may count as
fresh, and whether it may serve another crawl (RFC 9110, RFC 9111).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache

MAX_AGE = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?([0-9]{1,10})", re.IGNORECASE)
#: nothing is promised for longer (RFC 9111, section 1.2.2, allows as much)
LONGEST_SECONDS = 366 * 24 * 3600
#: of Cache-Control: private, or not without asking the server first
FORBIDDING = frozenset({"no-store", "no-cache", "private", "must-revalidate"})
#: what every crawl sends alike; an answer that varies by anything else may be another one's alone
SENT_ALIKE = frozenset({"accept", "accept-encoding"})
#: a client that sends one of these may get another answer
PERSONAL = re.compile(
    rb"^(?:cookie|authorization|proxy-authorization)[ \t]*:", re.IGNORECASE | re.MULTILINE
)


@lru_cache(maxsize=1024)  # a site's pages were often changed together
def read_date(text: str) -> datetime | None:
    """An HTTP date; None for what is none."""
    if not text or len(text) > 60:
        return None
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def fresh_until(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """Until when the answer counts as fresh: by `max-age`, which is stronger, or `Expires`.

    None: nothing is said.
    """
    stated = MAX_AGE.search(headers.get("Cache-Control", ""))
    if stated:
        return now + timedelta(seconds=min(int(stated[1]), LONGEST_SECONDS))
    expires = read_date(headers.get("Expires", ""))
    return min(expires, now + timedelta(seconds=LONGEST_SECONDS)) if expires else None


def may_be_reused(answer: Mapping[str, str], request: bytes) -> bool:
    """Whether nothing in the answer's headers or the request speaks against it.

    That it is fresh is the caller's to see.

    `must-revalidate` forbids only what is stale, which an answer without a stated age may be: it is
    taken at its strictest.
    """
    control = {
        part.partition("=")[0].strip().lower()
        for part in answer.get("Cache-Control", "").split(",")
    }
    varies = {part.strip().lower() for part in answer.get("Vary", "").split(",") if part.strip()}
    is_personal = "Set-Cookie" in answer or PERSONAL.search(request) is not None
    return not (
        control & FORBIDDING
        or varies - SENT_ALIKE
        or is_personal
        or "no-cache" in answer.get("Pragma", "").lower()
    )
