"""Keep what is known of hosts that let nothing be fetched, by run: it outlives shifts and
restarts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db import connection

from crawling.frontier.run_lock import locked_run
from crawling.models import Level, Shift
from crawling.run_log import NewLogLine, write_all
from crawling.web.outages import Outage
from crawling.web.statuses import FetchStatus

#: only the shift that leases the host may write this
KEEP = """
UPDATE crawling_hostqueue q
SET outage = kept.outage, retry_at = kept.retry_at, due_at = greatest(q.due_at, kept.retry_at)
FROM unnest(%(queues)s::bigint[], %(outages)s::jsonb[], %(retries)s::timestamptz[]) AS kept(id,
    outage, retry_at), crawling_host h
WHERE q.id = kept.id AND h.id = q.host_id AND h.shift_id = %(shift)s
"""


#: a shorter rest that a host asks for is not worth a line
TOLD_SECONDS = 600.0


class OutageChange(NamedTuple):
    """What a shift found of a host; outage None: it answers again."""

    queue_id: int
    name: str
    outage: Outage | None
    #: its URLs fail
    is_given_up: bool


def keep_outages(shift: Shift, found: Sequence[OutageChange]) -> None:
    """Store the outages of hosts that are still leased, and log them."""
    if not found:
        return
    values: dict[str, Any] = {
        "queues": [one.queue_id for one in found],
        "outages": [json.dumps(one.outage.as_json()) if one.outage else None for one in found],
        "retries": [_retry_at(one.outage) for one in found],
        "shift": shift.pk,
    }
    with locked_run(shift.process.run_id) as run, connection.cursor() as cursor:
        cursor.execute(KEEP, values)
        write_all(run.pk, [line for one in found if (line := _line(one))])


def _retry_at(outage: Outage | None) -> datetime | None:
    """Until when the queue rests; a host that asks for a rest has a clock, which all crawls
    obey.
    """
    return outage.retry_at if outage and outage.status != FetchStatus.HOST_BUSY else None


def _line(found: OutageChange) -> NewLogLine | None:
    """The beginning and the end of an outage stand in the log; of a rest that a host asks for, only
    if it is long.
    """
    outage = found.outage
    if outage is None:
        return None
    if found.is_given_up:
        return NewLogLine(f"{found.name} is given up. {outage.last_words}", Level.WARNING)
    if outage.status == FetchStatus.HOST_BUSY:
        is_told = (outage.retry_at - datetime.now(UTC)).total_seconds() > TOLD_SECONDS
    else:
        is_told = outage.tries == 1
    return NewLogLine(f"{found.name}: {outage.sentence}", Level.WARNING) if is_told else None
