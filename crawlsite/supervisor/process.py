"""One process of the Procfile, kept running: a process that dies is started again, after a wait
that doubles each time. Also one command of the line `release`, which must run before: migrations,
static files, the first administrator.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from crawlsite.env import BASE_DIR
from crawlsite.services.child import Child, die_with_parent, start_child
from crawlsite.services.forked_process import ForkedProcess
from crawlsite.services.stops import StartError

GROUP = "stack"
STOPS = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 0.3))
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 30.0
#: the seconds after which a start counts as good, so that a later death costs only the first wait
STEADY_SECONDS = 30.0


class SupervisedProcess:
    """Runs a command as a child and starts it again when it dies. With `work`, a fork runs that
    function in place of the command.
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        *,
        state_dir: Path,
        env: Mapping[str, str],
        work: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.command = command
        self.state_dir = state_dir
        self.env = env
        self.work = work
        self._wait_seconds = FIRST_WAIT_SECONDS
        self._start()

    def _start(self, *, again: bool = False) -> None:
        self.child: Child = start_child(
            self.command,
            name=self.name,
            state_dir=self.state_dir,
            group=GROUP,
            env=self.env,
            cwd=BASE_DIR,
            stops=STOPS,
            again=again,
            lets_others_end=True,
            work=self.work,
        )
        self._started_at = time.monotonic()
        self._due_at = 0.0

    def watch(self) -> str:
        """Start the process again if it has died and its wait is over. Return a sentence for the
        terminal; empty if nothing has happened.
        """
        if not self.child.poll_end():
            return ""
        now = time.monotonic()
        if self._due_at:
            if now >= self._due_at:
                self._start(again=True)
            return ""
        if now - self._started_at >= STEADY_SECONDS:
            self._wait_seconds = FIRST_WAIT_SECONDS
        wait, self._wait_seconds = (
            self._wait_seconds,
            min(2 * self._wait_seconds, LONGEST_WAIT_SECONDS),
        )
        self._due_at = now + wait
        return (
            f"{self.name} ended ({ending_in_words(self.child)}) and starts again in {wait:.0f} s; "
            f"see {self.child.log}"
        )


def ending_in_words(child: Child) -> str:
    code = child.process.returncode or 0
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"


def prepare(
    command: list[str],
    *,
    env: Mapping[str, str],
    work: Callable[[], None] | None = None,
    pause: Callable[[float], None],
) -> None:
    """Run one command, or a fork that runs `work` in its place. The output goes to the operator.

    Raises StartError if the command fails, and any exception that `pause` raises.
    """
    process = _start_process(command, env, work)
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


def _start_process(
    command: list[str], env: Mapping[str, str], work: Callable[[], None] | None
) -> subprocess.Popen[bytes] | ForkedProcess:
    before = die_with_parent(signal.SIGTERM)
    if work:
        return ForkedProcess(work, before=before, cwd=BASE_DIR)
    try:
        return subprocess.Popen(  # noqa: S603 - from the Procfile
            command,
            stdin=subprocess.DEVNULL,
            cwd=BASE_DIR,
            env=dict(env),
            start_new_session=True,
            preexec_fn=before,
        )
    except OSError as error:
        raise StartError(
            f"{command[0]}: {error.strerror}; see the line `release` of the Procfile"
        ) from error
