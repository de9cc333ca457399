"""The common case in one call of the server: a grant that is obviously safe, or a release, while no
process waits.

The functions are in `allocation/sql`. They answer only if no rule has to examine the other holders
or the queue. With the answer None nothing has changed, and the caller must decide under its own
lock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError

from allocation.models import RequestKind
from allocation.services.transaction import call_server
from allocation.values import Released, ReleaseStatus, RequestOutcome

GRANT = (
    "allocation_grant(%s, %s::bigint, %s::jsonb, %s::uuid, %s, %s::bigint, %s::float8, %s::float8)"
)
RELEASE = "allocation_release(%s, %s::bigint, %s::bigint, %s::uuid, %s::jsonb, %s)"
KEYS = re.compile(r"[-\w]*")
#: a hundred years; other code refuses a longer time, which no interval can represent
LONGEST_SECONDS = 100 * 366 * 24 * 3600.0


def quick_grant(
    *,
    process: int,
    amounts: Mapping[str, int],
    request_id: UUID,
    kind: RequestKind,
    epoch: int | None,
    deadline_seconds: float | None,
) -> RequestOutcome | None:
    """Grant the request if the free units cover everything that the process may still request;
    otherwise return None.
    """
    if (
        not _are_positive_integers(amounts, process, epoch or 0)
        or (deadline_seconds or 0) > LONGEST_SECONDS
    ):
        return None
    asked = json.dumps(dict(amounts)), str(request_id), kind.value, epoch
    seconds = deadline_seconds, settings.BANK_PICKUP_SECONDS
    grant, shift = call_server(GRANT, process, *asked, *seconds)
    return RequestOutcome.from_grant(request_id, grant, shift) if grant else None


def quick_release(
    *, process: int, epoch: int, release_id: UUID, amounts: Mapping[str, int] | None, reason: str
) -> Released | None:
    if not _are_positive_integers(amounts or {}, process, epoch):
        return None
    given = None if amounts is None else json.dumps(dict(amounts))
    try:
        keys, units = call_server(RELEASE, process, epoch, str(release_id), given, reason)
    except IntegrityError:
        return None
    return (
        Released(
            release_id,
            ReleaseStatus.RELEASED,
            {key: n for key, n in zip(keys, units, strict=True) if n},
        )
        if keys
        else None
    )


def _are_positive_integers(amounts: Mapping[str, int], *numbers: int) -> bool:
    """Whether the server can read the amounts. Other code refuses unreadable amounts, with a
    sentence.
    """
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        return False
    is_whole = all(type(units) is int and 0 <= units < 2**31 for units in amounts.values())
    return is_whole and KEYS.fullmatch("".join(amounts)) is not None
