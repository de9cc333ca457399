"""Stops this process gently when the process that forked it is gone."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time

PR_SET_PDEATHSIG = 1
#: how often the parent is looked at where the kernel does not signal its death
LOOK_SECONDS = 0.5
_libc = ctypes.CDLL(None)


def stop_with_parent() -> None:
    """SIGTERM arrives when the parent dies: from the kernel where it has such a signal, and
    elsewhere from a thread that looks at the parent's number.
    """
    if hasattr(_libc, "prctl"):
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    else:
        threading.Thread(target=_await_death, args=(os.getppid(),), daemon=True).start()


def _await_death(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)  # nothing tells a child on all systems that its parent died
    os.kill(os.getpid(), signal.SIGTERM)
