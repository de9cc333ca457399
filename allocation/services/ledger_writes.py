"""The rows of a grant and of a release. One call of a server function writes each, and no other
code does.

The functions are in `allocation/sql`. They read the rows of the pool and of the process, so earlier
changes must have been written. The caller holds the pool's lock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError

from allocation.errors import LedgerBroken
from allocation.models import EventKind, Process, Request
from allocation.rules.banker import Vector
from allocation.services.transaction import call_in_transaction

POOL = "(SELECT p FROM allocation_pool AS p WHERE p.id = %s)"
PROCESS = "(SELECT p FROM allocation_process AS p WHERE p.id = %s)"
ASKED = "%s::uuid, %s, %s::integer[]"
GRANT = (
    f"allocation_write_grant({POOL}, {PROCESS}, {ASKED}, %s::bigint[], %s, %s::float8, %s::float8)"
)
RELEASE = f"allocation_write_release({POOL}, {PROCESS}, %s::integer[], %s, %s, %s::uuid, %s)"
SHIFT = "allocation_begin_shift(%s::bigint, %s::integer[], %s::float8)"
#: SQLSTATE of a release that the open grants do not cover
UNCOVERED = "23000"


class WrittenGrant(NamedTuple):
    grant_id: int
    shift: int
    available: Vector
    held: Vector


def write_grant(
    request: Request,
    sequence: Sequence[int],
    *,
    others_wait: bool,
    deadline_seconds: float | None,
) -> WrittenGrant:
    """Grant a request that is new or waits. Processes can finish in the order of `sequence`."""
    asked = str(request.pk), request.kind, list(request.amounts)
    row = call_in_transaction(
        GRANT,
        request.pool_id,
        request.process_id,
        *asked,
        list(sequence),
        others_wait,
        deadline_seconds,
        settings.BANK_PICKUP_SECONDS,
    )
    grant_id, shift, available, held = row
    return WrittenGrant(grant_id, shift, tuple(available), tuple(held))


def write_release(
    process: Process,
    amounts: Vector,
    kind: EventKind,
    reason: str,
    *,
    release_id: UUID | None,
    ends_shift: bool,
) -> tuple[Vector, Vector]:
    """Take units back. Return the available and the held units after that. Raises LedgerBroken."""
    number = None if release_id is None else str(release_id)
    given = list(amounts), kind.value, reason, number, ends_shift
    try:
        available, held = call_in_transaction(RELEASE, process.pool_id, process.pk, *given)
    except IntegrityError as error:
        diagnosis = getattr(error.__cause__, "diag", None)
        if diagnosis is None or diagnosis.sqlstate != UNCOVERED:
            raise
        missing = json.loads(diagnosis.message_detail)
        raise LedgerBroken(process=process.pk, missing=missing) from error
    return tuple(available), tuple(held)


def write_shift(process: Process) -> int:
    """Begin a shift with the units that the process holds. Return its epoch.

    Its lease leaves time for a worker to take it up, and the process's owner gets a message.
    """
    [epoch] = call_in_transaction(
        SHIFT, process.pk, list(process.allocated), settings.BANK_PICKUP_SECONDS
    )
    return int(epoch)
