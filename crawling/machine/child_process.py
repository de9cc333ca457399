"""Work in a child process that its parent can end at any moment, even within a call of a library.
Its memory is free after that.
"""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from django.db import connections

from crawling.machine.orphans import stop_with_parent
from crawling.machine.work_folders import work_folder

#: a fork has all modules imported, and shares its parent's memory until either changes it
FORK = multiprocessing.get_context("fork")
#: the time between two checks of the time that is left
LOOK_SECONDS = 0.1
#: the time that it takes to end a child of one GB and to release the units held for it
END_SECONDS = 2.0
#: the messages to a child
BEGIN, END = "begin", "end"

#: returns whether the work may continue; to be called between two steps
GoesOn = Callable[[], bool]
#: returns the seconds for which the work may continue; infinite while no other process needs its
#: units
SecondsLeft = Callable[[], float]


class ChildLost(Exception):
    """The child ended without a result: it failed, as the log says, or it was killed."""


class ChildProcess:
    """A child that waits until its result is requested."""

    def __init__(self, process: BaseProcess, pipe: Connection) -> None:
        self._process, self._pipe = process, pipe

    def result(self, goes_on: GoesOn, seconds_left: SecondsLeft) -> str | None:
        """Let the child work. Return the result of the work, or None if the time was over first.
        After this the child has ended. Raises ChildLost.
        """
        try:
            return self._result(goes_on, seconds_left)
        except (EOFError, ConnectionError) as error:
            raise ChildLost from error
        finally:
            self.end()

    def _result(self, goes_on: GoesOn, seconds_left: SecondsLeft) -> str | None:
        self._pipe.send(BEGIN)
        is_told = False
        while seconds_left() > END_SECONDS:
            if not (is_told or goes_on()):
                self._pipe.send(END)
                is_told = True
            if self._pipe.poll(LOOK_SECONDS):
                return str(self._pipe.recv())
        return None

    def end(self) -> None:
        """Kill the child if it lives, and wait until its memory is free."""
        self._process.kill()
        self._process.join()


@contextmanager
def child_process(work: Callable[[GoesOn], str]) -> Iterator[ChildProcess]:
    """A child for some work. At the end of the block the child is ended and its temporary files are
    removed. If this process dies, the kernel ends the child.

    Only the main thread may call this, while there is no other thread, since this forks.
    """
    connections.close_all()  # two processes must not share a connection from before the fork
    ours, theirs = FORK.Pipe()
    with work_folder() as folder, ours:
        process = FORK.Process(target=_run_child, args=(work, ours, theirs, folder.path))
        process.start()
        theirs.close()
        child = ChildProcess(process, ours)
        try:
            yield child
        finally:
            child.end()


def _run_child(
    work: Callable[[GoesOn], str], parents: Connection, pipe: Connection, folder: Path
) -> None:
    # the signal that the kernel sends when the parent dies
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    stop_with_parent()
    parents.close()
    tempfile.tempdir = str(folder)
    with suppress(EOFError, ConnectionError):  # the parent has ended
        pipe.recv()
        pipe.send(work(lambda: not pipe.poll()))
