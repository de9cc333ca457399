"""The clocks of addresses: hosts that are served at one address take turns there, whichever crawl
asks for them.

A turn is when a request may begin. It is taken ahead, so nothing is held, and nothing has to be
given back when a shift is lost.
"""

from __future__ import annotations

from typing import NamedTuple

from django.db import connection

#: turns are given out so far ahead; beyond it the caller asks again later
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

#: a clock that was not read for an hour has no meaning any more
FORGET = "DELETE FROM crawling_addressclock WHERE due_at < clock_timestamp() - interval '1 hour'"


class AddressTurn(NamedTuple):
    """When the next request to an address may begin."""

    #: until the request may begin; if none was taken, until there are turns to take
    seconds: float
    #: whether a turn was taken
    is_taken: bool


def take_turn(address: str, gap: float) -> AddressTurn:
    """Take the next turn at an address, `gap` seconds after the one before."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE, {"address": address, "gap": gap, "ahead": AHEAD_SECONDS})
        if row := cursor.fetchone():
            return AddressTurn(max(0.0, row[0]), is_taken=True)
        cursor.execute(UNTIL_TURNS, [AHEAD_SECONDS, address])
        row = cursor.fetchone()
    return AddressTurn(max(gap, row[0] if row else 0.0), is_taken=False)


def forget_clocks() -> int:
    """Delete the clocks that are no longer read; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET)
        return int(cursor.rowcount)
