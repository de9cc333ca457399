"""Whether anything is active. In an idle installation duties are done less often."""

from __future__ import annotations

import threading

from django.db import Error, connection, connections

from crawling.models.jobs import WINDING_DOWN_STATES, WORKING_STATES, states_in_sql

#: the longest time between two reads of the outbox; the notice of a grant ends it
FLOOR_SECONDS = 0.5
#: the same while nothing is active
IDLE_FLOOR_SECONDS = 5.0
#: each part uses a small index, however many runs have ended
IS_AT_WORK = f"""
SELECT EXISTS (SELECT FROM crawling_run WHERE removal_asked_at IS NULL
               AND state IN {states_in_sql((*WORKING_STATES, *WINDING_DOWN_STATES))})
    OR EXISTS (SELECT FROM allocation_process WHERE lease_until IS NOT NULL)
    OR EXISTS (SELECT FROM allocation_request WHERE state = 'waiting')
"""  # noqa: S608  # constants


def is_idle() -> bool:
    """Whether no run is working or winding down, and no process of a pool holds or waits for
    units.
    """
    with connection.cursor() as cursor:
        cursor.execute(IS_AT_WORK)
        [is_at_work] = cursor.fetchone() or [True]
    return not is_at_work


class IdleState:
    """Whether nothing is active. The thread of the duties checks the database; the other thread is
    notified of grants, which end the idle state.
    """

    def __init__(self) -> None:
        self.is_on = False
        self._grants = 0
        self._lock, self._ended = threading.Lock(), threading.Event()

    @property
    def floor_seconds(self) -> float:
        return IDLE_FLOOR_SECONDS if self.is_on else FLOOR_SECONDS

    def look(self) -> None:
        """Check the database. A grant during the check counts as activity."""
        grants = self._grants
        try:
            found = is_idle()
        except Error:  # the duties report this error
            connections.close_all()
            found = False
        with self._lock:
            self.is_on = found and grants == self._grants

    def note_grant(self) -> None:
        with self._lock:
            self._grants += 1
            was_on, self.is_on = self.is_on, False
        if was_on:
            self.interrupt()

    def interrupt(self) -> None:
        """End the wait of the duties' thread."""
        self._ended.set()

    def wait(self, seconds: float) -> None:
        self._ended.wait(seconds)
        self._ended.clear()
