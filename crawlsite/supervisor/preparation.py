"""Runs what must be done before the processes start: migrations, static files, the first
administrator.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Mapping

from crawlsite.env import BASE_DIR
from crawlsite.services.child import die_with_parent
from crawlsite.services.identity import StartError


def prepare(command: list[str], *, env: Mapping[str, str], pause: Callable[[float], None]) -> None:
    """Run one command; what it prints is for the operator.

    Raises StartError if it fails, and whatever `pause` raises.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 - from the Procfile
            command,
            stdin=subprocess.DEVNULL,
            cwd=BASE_DIR,
            env=dict(env),
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )
    except OSError as error:
        raise StartError(
            f"{command[0]}: {error.strerror}; see the line `release` of the Procfile"
        ) from error
    try:
        while process.poll() is None:
            pause(0.02)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode:
        raise StartError(
            f"`{' '.join(command)}` failed (status {process.returncode}), so nothing was started"
        )
