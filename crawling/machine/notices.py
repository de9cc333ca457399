"""Waiting for what PostgreSQL notifies, without a look in between, until the process is to end."""

from __future__ import annotations

import os
import select
import threading

import psycopg


class StopEvent(threading.Event):
    """Set when the process is to end, by a signal for example; ends `await_notice`, too."""

    def __init__(self) -> None:
        super().__init__()
        self._read, self._write = os.pipe()

    def set(self) -> None:
        super().set()
        os.write(self._write, b"\n")

    def fileno(self) -> int:
        """Readable once it is set."""
        return self._read


def await_notice(connection: psycopg.Connection, ending: StopEvent, seconds: float) -> bool:
    """Whether there was a notification, on a connection that listens, within `seconds`.

    psycopg's own `notifies` wakes up ten times a second. Raises psycopg.OperationalError when the
    connection breaks.
    """
    ready, _, _ = select.select([connection.fileno(), ending.fileno()], [], [], seconds)
    if connection.fileno() not in ready:
        return False
    return bool(list(connection.notifies(timeout=0)))
