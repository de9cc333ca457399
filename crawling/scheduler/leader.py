"""The leader among several schedulers: the holder of a lock in PostgreSQL."""

from __future__ import annotations

import logging

import psycopg
from django.db import connection

from allocation.services import GRANTS_CHANNEL
from crawling.base.sessions import open_session
from crawling.machine.notices import StopEvent, await_notice

logger = logging.getLogger(__name__)

#: any number, as long as this database uses it for no other lock
LEADER_LOCK = 7_266_101_432

#: pg_locks shows a 64-bit key as two halves, and the locks of all databases of the server
IS_HELD = """
SELECT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""


def has_leader() -> bool:
    """Whether any scheduler of this database holds the lock at the moment."""
    with connection.cursor() as cursor:
        cursor.execute(IS_HELD, [LEADER_LOCK >> 32, LEADER_LOCK & 0xFFFFFFFF])
        row = cursor.fetchone()
    return bool(row and row[0])


class Leadership:
    """A separate connection that holds the lock for as long as it lives, and receives notifications
    of grants.
    """

    def __init__(self) -> None:
        self._connection: psycopg.Connection | None = None

    def is_held(self) -> bool:
        """Try to become the leader, or check that this scheduler still is.

        Raises psycopg.OperationalError without a database.
        """
        if self._connection is None or self._connection.closed:
            self._connection = open_session()
            self._is_leader = False
        if not self._is_leader:
            row = self._connection.execute(
                "SELECT pg_try_advisory_lock(%s)", [LEADER_LOCK]
            ).fetchone()
            self._is_leader = bool(row and row[0])
            if self._is_leader:
                self._connection.execute(f"LISTEN {GRANTS_CHANNEL}")
                logger.info("this scheduler leads")
        return self._is_leader

    def wait(self, seconds: float, ending: StopEvent) -> bool:
        """Wait for `seconds`. Return whether the pool granted something in this time."""
        assert self._connection is not None
        return await_notice(self._connection, ending, seconds)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
