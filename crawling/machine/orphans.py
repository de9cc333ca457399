"""Stops this process in order when the process that forked it has ended."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time

PR_SET_PDEATHSIG = 1
#: the time between two checks of the parent, on systems whose kernel does not signal its death
LOOK_SECONDS = 0.5
_libc = ctypes.CDLL(None)


def stop_with_parent() -> None:
    """Let this process get SIGTERM when its parent dies. The kernel sends the signal if it can;
    otherwise a thread that checks the parent's process id sends it.
    """
    if hasattr(_libc, "prctl"):
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    else:
        threading.Thread(target=_await_death, args=(os.getppid(),), daemon=True).start()


def _await_death(parent: int) -> None:
    while os.getppid() == parent:
        # on some systems the kernel does not signal the death of the parent
        time.sleep(LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
