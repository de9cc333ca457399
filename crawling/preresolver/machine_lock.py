"""One process a machine resolves ahead: the one whose connection to PostgreSQL holds the machine's
lock.
"""

from __future__ import annotations

import psycopg
from django.db import connection

#: any number will do, as long as nothing else in this database locks by two numbers
SEAT_LOCK = 726_610


#: a lock by two numbers; pg_locks shows those of every database of the server
IS_TAKEN = """
SELECT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""


def is_any_taken() -> bool:
    """Whether a pre-resolver runs on any machine, at work or idle."""
    with connection.cursor() as cursor:
        cursor.execute(IS_TAKEN, [SEAT_LOCK])
        row = cursor.fetchone()
    return bool(row and row[0])


class MachineLock:
    """Held for as long as the connection lives, so a dead process holds none."""

    def __init__(self, machine: str) -> None:
        self._machine = machine
        self._connection: psycopg.Connection | None = None
        self._is_held = False

    def is_held(self) -> bool:
        """Try to take the lock, or make sure of still holding it.

        Raises psycopg.OperationalError without a database.
        """
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                **connection.get_connection_params(), autocommit=True
            )
            self._is_held = False
        if self._is_held:
            self._connection.execute("SELECT 1")
        else:
            row = self._connection.execute(
                "SELECT pg_try_advisory_lock(%s, hashtext(%s))", [SEAT_LOCK, self._machine]
            ).fetchone()
            self._is_held = bool(row and row[0])
        return self._is_held

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
