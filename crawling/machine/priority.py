"""Work that waits for a processor when people look at pages: a shift takes what they leave."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

NICENESS = 10
#: beside many pages, shifts keep 55 to 66 % of their rate by 5, and less than half by 10
SESSION_NICENESS = 5
#: of work that shifts go before
IDLE_NICENESS = 19
#: Linux shares processors between sessions first, so that a niceness counts inside a session only.
#: The supervisor, like systemd, starts each process in a session of its own, and PostgreSQL each
#: connection's.
GROUP = Path("/proc/self/autogroup")


def let_pages_go_first() -> None:
    """Lower the priority of this work process, and of its worker's session if that is the worker's
    alone; one that is started from a terminal shares it.
    """
    os.nice(NICENESS)
    if os.getsid(0) == os.getppid():
        lower_session()


def lower_session(niceness: int = SESSION_NICENESS) -> None:
    """The kernel allows ten changes a second on the whole machine; the next shift, or the next look
    of an idle turn, tries again.
    """
    with suppress(OSError):
        if not GROUP.read_text().endswith(f"nice {niceness}\n"):
            GROUP.write_text(str(niceness))


def let_shifts_go_first() -> None:
    """Lower the priority of this work process below that of shifts until it hurries, if its worker
    has a session of its own: of that session only the work process works meanwhile.
    """
    if _is_alone():
        lower_session(IDLE_NICENESS)


def hurry() -> None:
    """Be no longer behind shifts: someone waits for the end of this work process."""
    if _is_alone():
        lower_session(0)


def _is_alone() -> bool:
    return os.getsid(0) == os.getppid()
