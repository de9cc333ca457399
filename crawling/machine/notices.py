"""Waiting for notifications of PostgreSQL, without polling, until the process is to end."""

from __future__ import annotations

import os
import select
import threading

import psycopg


class StopEvent(threading.Event):
    """Set when the process is to end, for example by a signal. `await_notice` returns, too."""

    def __init__(self) -> None:
        super().__init__()
        self._read, self._write = os.pipe()

    def set(self) -> None:
        super().set()
        os.write(self._write, b"\n")

    def fileno(self) -> int:
        """A file descriptor that becomes readable once the event is set."""
        return self._read


def await_notice(connection: psycopg.Connection, ending: StopEvent, seconds: float) -> bool:
    """Wait for a notification on a listening connection. Return whether there was one within
    `seconds`.

    psycopg's own `notifies` would wake up ten times a second. Raises psycopg.OperationalError when
    the connection breaks.
    """
    ready, _, _ = select.select([connection.fileno(), ending.fileno()], [], [], seconds)
    if connection.fileno() not in ready:
        return False
    return bool(list(connection.notifies(timeout=0)))
