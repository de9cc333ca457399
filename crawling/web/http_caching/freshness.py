"""What an answer's headers say of its age: when it was changed, and how long it may count as fresh
(RFC 9110, RFC 9111).
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
