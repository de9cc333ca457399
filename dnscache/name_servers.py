"""The limit of each name server for all processes together, and the number of questions that it was
asked.

The row of a server is its token bucket. The pre-resolver takes tokens in batches before it asks, in
the thread that uses the database. A look-up with a waiting caller does not wait for a token, nor
does a further try; such tokens are taken from the bucket afterwards.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict

from django.db import connection

from dnscache.lookup import Server, exchanges, server_text
from dnscache.records import DEFAULT_PER_SECOND

#: the share of each limit that a process may use at first, if it starts slowly
FIRST_SHARE = 0.1
#: the least time between two requests for more tokens
REFILL_SECONDS = 0.05

_BEGIN = "INSERT INTO dnscache_dnsserver (server) VALUES (%(server)s) ON CONFLICT DO NOTHING"
#: takes tokens: a bucket holds those of one second, of which this process may have a share
_TAKE = """
UPDATE dnscache_dnsserver s SET tokens = have - got, taken_at = clock_timestamp()
FROM (
    SELECT server, have, greatest(0, least(floor(have), %(wanted)s)) AS got FROM (
        SELECT server, least(greatest(1, per_second * %(share)s), tokens + per_second * %(share)s
            * greatest(0, extract(epoch FROM clock_timestamp() - taken_at))::float8) AS have
        FROM dnscache_dnsserver WHERE server = %(server)s FOR UPDATE
    ) filled
) taken
WHERE s.server = taken.server RETURNING got::int
"""
_SUMS = ("asked", "answered", "failed", "silent", "over_tcp", "milliseconds")
_TELL = f"""
WITH owed AS (
    INSERT INTO dnscache_dnsserver AS s (server, tokens)
    VALUES (%(server)s, {DEFAULT_PER_SECOND} - %(unpaid)s)
    ON CONFLICT (server) DO UPDATE SET tokens = s.tokens - %(unpaid)s)
INSERT INTO dnscache_dnsserverminute AS m (minute, server, {", ".join(_SUMS)}, longest_ms)
VALUES (date_trunc('minute', clock_timestamp()), %(server)s,
    {", ".join(f"%({name})s" for name in _SUMS)}, %(longest_ms)s)
ON CONFLICT (minute, server) DO UPDATE SET
    {", ".join(f"{name} = m.{name} + excluded.{name}" for name in _SUMS)},
    longest_ms = greatest(m.longest_ms, excluded.longest_ms)
"""  # noqa: S608 - the columns are constants


def write_questions() -> None:
    """Add this process's questions to the minute's rows, and take their tokens from the buckets."""
    for server, counts in exchanges.take().items():
        values = {"server": server_text(server), **asdict(counts)}
        with connection.cursor() as cursor:
            cursor.execute(_TELL, values)


def take_tokens(server: str, wanted: int, *, share: float = 1.0) -> int:
    """Take up to `wanted` tokens of a server. Return how many were taken."""
    values: dict[str, str | float] = {"server": server, "wanted": wanted, "share": share}
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, values)
        row = cursor.fetchone()
        if row is None:
            cursor.execute(_BEGIN, values)
            cursor.execute(_TAKE, values)
            row = cursor.fetchone()
    return int(row[0]) if row else 0


class LookupBudget:
    """Tokens of this process: one thread refills them, look-up threads take them.

    The first server is asked as long as it has tokens, then the next.
    """

    def __init__(self, servers: Callable[[], tuple[Server, ...]], *, ramp_seconds: float) -> None:
        self._servers, self._ramp_seconds = servers, ramp_seconds
        self._began = time.monotonic()
        self._refill_at = 0.0
        self._ready: deque[Server] = deque()
        self._taken, self._is_closed = 0, False
        self._change = threading.Condition()

    def refill(self, names: int) -> None:
        """Refill the tokens that `names` names, waiting or under way, still lack."""
        now, missing = time.monotonic(), names - self._taken - len(self._ready)
        if missing <= 0 or now < self._refill_at:
            return
        self._refill_at = now + REFILL_SECONDS
        for server in self._servers():
            granted = take_tokens(server_text(server), missing, share=self._ramp_share(now))
            with self._change:
                self._ready.extend([server] * granted)
                self._change.notify(granted)
            missing -= granted
            if not missing:
                return

    def take(self) -> tuple[Server, ...] | None:
        """Wait for a token. Return the servers, with the server of the token first; None once
        closed.
        """
        servers = self._servers()
        with self._change:
            while servers and not self._ready and not self._is_closed:
                self._change.wait()
            if self._is_closed:
                return None
            self._taken += 1
            if not servers:
                return ()
            first = self._ready.popleft()
        return (first, *(server for server in servers if server != first))

    def give_back(self, server: Server) -> None:
        """Return a token that is not needed, for the next look-up."""
        with self._change:
            self._ready.append(server)
            self._change.notify()

    def done(self) -> None:
        with self._change:
            self._taken -= 1

    def close(self) -> None:
        """Wake the threads that wait for a token."""
        with self._change:
            self._is_closed = True
            self._change.notify_all()

    def _ramp_share(self, now: float) -> float:
        if not self._ramp_seconds:
            return 1.0
        return min(1.0, FIRST_SHARE + (1 - FIRST_SHARE) * (now - self._began) / self._ramp_seconds)
