"""The clocks of addresses: hosts that are served at one address take turns, whichever crawl needs
them. The module also lends hosts for a moment to fetches that belong to no run. Such a loan ends by
time alone.

A turn is the time when a request may begin. A shift takes a turn in advance, without a lock, so a
lost shift leaves nothing to release.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import connection

from crawling.frontier.sql_rows import add_hosts

#: the turn farthest ahead that is given out; beyond it the caller asks again later
AHEAD_SECONDS = 10.0

TAKE = """
INSERT INTO crawling_addressclock AS c (address, due_at)
    VALUES (%(address)s, clock_timestamp() + make_interval(secs => %(gap)s))
ON CONFLICT (address) DO UPDATE SET due_at = greatest(c.due_at,
    clock_timestamp()) + make_interval(secs => %(gap)s)
WHERE c.due_at <= clock_timestamp() + make_interval(secs => %(ahead)s)
RETURNING extract(epoch FROM due_at - clock_timestamp())::float8 - %(gap)s
"""

UNTIL_TURNS = (
    "SELECT extract(epoch FROM due_at - clock_timestamp())::float8 - %s "
    "FROM crawling_addressclock WHERE address = %s"
)

#: the clock of an address has no meaning any more if it was not read for an hour
FORGET = "DELETE FROM crawling_addressclock WHERE due_at < clock_timestamp() - interval '1 hour'"
#: A host that is being leased at this moment is skipped, never waited for. Until it is returned, no
#: shift gets it. If this process dies, the host is free when the time is over.
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

#: a shift that has leased the host meanwhile waited for the end of the loan, and has its own clock
RETURN = """
UPDATE crawling_host SET due_at = clock_timestamp() +
    make_interval(secs => greatest(%s, delay_seconds))
WHERE name = %s AND shift_id IS NULL AND due_at = %s
"""


#: a shift that has leased the host has its own clock, and its return keeps the later time
LET_REST = """
UPDATE crawling_host SET due_at = greatest(due_at,
    clock_timestamp() + make_interval(secs => %s))
WHERE name = %s
"""


class AddressTurn(NamedTuple):
    #: seconds until the request may begin; if no turn was taken, until turns are available
    seconds: float
    #: whether a turn was taken
    is_taken: bool


def take_turn(address: str, gap: float) -> AddressTurn:
    """Take the next turn at an address, `gap` seconds after the previous one."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE, {"address": address, "gap": gap, "ahead": AHEAD_SECONDS})
        if row := cursor.fetchone():
            return AddressTurn(max(0.0, row[0]), is_taken=True)
        cursor.execute(UNTIL_TURNS, [AHEAD_SECONDS, address])
        row = cursor.fetchone()
    return AddressTurn(max(gap, row[0] if row else 0.0), is_taken=False)


def forget_clocks() -> int:
    """Delete the clocks that are no longer read. Return their number."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET)
        return int(cursor.rowcount)


@dataclass(frozen=True, slots=True)
class BorrowedHost:
    """A host that is lent to this process alone for some time."""

    name: str
    #: seconds until a fetch from it may begin
    wait_seconds: float
    #: the end of the loan
    until: datetime


def borrow_hosts(
    names: Collection[str], *, soon_seconds: float, seconds: float
) -> dict[str, BorrowedHost]:
    """Reserve these hosts for `seconds`. Hosts that are leased, or not free soon, are left out."""
    with connection.cursor() as cursor:
        add_hosts(cursor, sorted(names))
        cursor.execute(BORROW, {"names": list(names), "soon": soon_seconds, "seconds": seconds})
        return {row[0]: BorrowedHost(*row) for row in cursor.fetchall()}


def return_host(host: BorrowedHost, delay_seconds: float) -> None:
    """Release the host, which then rests for the given delay, or for its own if that is longer."""
    with connection.cursor() as cursor:
        cursor.execute(RETURN, [delay_seconds, host.name, host.until])


def let_host_rest(name: str, seconds: float) -> None:
    """Let no crawl visit a host for so long. A host that no crawl knows is left out."""
    with connection.cursor() as cursor:
        cursor.execute(LET_REST, [seconds, name])
