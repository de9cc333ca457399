"""Hosts for a moment, for fetches that belong to no run: the same clock, held by its time alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from crawling.frontier.bulk_insert import add_hosts

#: A host that is being leased at this moment is passed over, never waited for. Until it is returned
#: no other shift gets it; if this process dies, the host is free when the time is over.
BORROW = """
WITH free AS (
    SELECT id, due_at FROM crawling_host
    WHERE name = ANY(%(names)s) AND shift_id IS NULL
        AND due_at <= clock_timestamp() + make_interval(secs => %(soon)s)
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE crawling_host h SET due_at = greatest(free.due_at,
    clock_timestamp()) + make_interval(secs => %(seconds)s)
FROM free WHERE h.id = free.id
RETURNING h.name, greatest(0, extract(epoch FROM free.due_at - clock_timestamp()))::float8, h.due_at
"""

#: a shift that leased the host meanwhile has waited for our time to pass, and keeps a clock of its
#: own
RETURN = """
UPDATE crawling_host SET due_at = clock_timestamp() +
    make_interval(secs => greatest(%s, delay_seconds))
WHERE name = %s AND shift_id IS NULL AND due_at = %s
"""


@dataclass(frozen=True, slots=True)
class BorrowedHost:
    """A host that this process alone has for some time."""

    name: str
    #: until it may be fetched from
    wait_seconds: float
    #: when the time ends
    until: datetime


def borrow_hosts(
    names: Collection[str], *, soon_seconds: float, seconds: float
) -> dict[str, BorrowedHost]:
    """Reserve these hosts for so long; hosts that are leased, or not free soon, are left out."""
    with connection.cursor() as cursor:
        add_hosts(cursor, sorted(names))
        cursor.execute(BORROW, {"names": list(names), "soon": soon_seconds, "seconds": seconds})
        return {row[0]: BorrowedHost(*row) for row in cursor.fetchall()}


def return_host(host: BorrowedHost, delay_seconds: float) -> None:
    """Let the host go; it rests for the delay first, or for its own if that is longer."""
    with connection.cursor() as cursor:
        cursor.execute(RETURN, [delay_seconds, host.name, host.until])
