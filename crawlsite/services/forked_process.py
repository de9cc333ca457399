"""A child that is forked and not started from a file. It has the modules that this process has
imported, in memory that both share. This works on Linux only.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

FORK = multiprocessing.get_context("fork")
#: the signals that its parent handles in its own way; the child gets the default handling back
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HANDLED = (*STOP_SIGNALS, signal.SIGCHLD)
#: the first file number after standard input, output and errors
FIRST_FILE = 3
OPEN_FILES = "/proc/self/fd"


class ForkedProcess:
    """A child that does `work` and ends. It has the methods of `subprocess.Popen` that its watcher
    needs.

    Before the constructor returns, the child leads a session of its own, and has none of its
    parent's files except those that it prints to. `before` is done first.
    """

    def __init__(
        self,
        work: Callable[[], None],
        *,
        before: Callable[[], None],
        cwd: Path,
        stdout: int = 1,
        stderr: int = 2,
    ) -> None:
        self.returncode: int | None = None
        ready, begun = os.pipe()

        def begin() -> None:
            os.setsid()
            before()
            _start_anew(cwd, stdout, stderr, but=begun)
            os.close(begun)
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            work()

        self._process = FORK.Process(target=begin)
        # a signal that came before the child has its own handlers would be lost
        held = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            os.close(begun)
        os.read(ready, 1)
        os.close(ready)
        self.pid: int = self._process.pid or 0

    def poll(self) -> int | None:
        """The process's exit status, negative for a signal; None if it still runs."""
        self.returncode = self._process.exitcode
        return self.returncode

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> None:
        self._process.join()


def _start_anew(cwd: Path, stdout: int, stderr: int, *, but: int) -> None:
    """Give this process the state of one that was started from its file. but: a file that stays
    open.
    """
    signal.set_wakeup_fd(-1)
    for number in HANDLED:
        if signal.getsignal(number) != signal.SIG_IGN:
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (stdout, 1), (stderr, 2)):
        os.dup2(source, target)
    for file in map(int, os.listdir(OPEN_FILES)):
        if file >= FIRST_FILE and file != but:
            with suppress(OSError):  # the file that listed the folder is already closed
                os.close(file)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    os.chdir(cwd)
