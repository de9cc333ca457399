"""Identifies a process for certain, as its number alone may be another's by now, and names what
ends a start of the servers.
"""

from __future__ import annotations

import psutil

CLOCK_GRAIN_SECONDS = 0.1


def birth_note(pid: int) -> str:
    """Return what tells this process from any other, as `number start-time`."""
    return f"{pid} {psutil.Process(pid).create_time()}"


def living(note: str) -> int | None:
    """Return the number of the process that `birth_note` described, if it still runs."""
    try:
        pid, created = note.split()[:2]
        process = psutil.Process(int(pid))
        same = abs(process.create_time() - float(created)) < CLOCK_GRAIN_SECONDS
        return process.pid if same and process.status() != psutil.STATUS_ZOMBIE else None
    except (ValueError, psutil.Error):
        return None


class StartError(Exception):
    """The servers cannot start; the message says why and what to do."""


class StopRequested(Exception):
    """A signal asked this program to end."""
