"""When a page is asked for again that earlier runs have: the longer it has stayed as it was, the
later (SEEDS B8).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple


class RevisitCheck(NamedTuple):
    """A time at which the server was asked, and what the document was then."""

    at: datetime
    digest: bytes


def due_again(checks: Sequence[RevisitCheck], most: timedelta) -> datetime:
    """When the page is to be asked for again.

    checks: of all earlier runs that asked, the latest first, at least one.

    A page that was the same for a week is left alone for another, and so for twice as long each
    time; one that was another at the last check, or was asked for once only, is due at once.
    """
    latest = checks[0]
    same_since = latest.at
    for check in checks[1:]:
        if check.digest != latest.digest:
            break
        same_since = check.at
    return latest.at + min(latest.at - same_since, most)
