"""Work in a child process that its parent ends at any moment, whatever call into a library it is
in: then its memory is free.
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

#: everything is imported already, and memory is shared with the parent until it changes
FORK = multiprocessing.get_context("fork")
#: between two looks at the time left
LOOK_SECONDS = 0.1
#: to end a child of a GB, and to give back what is held for it, takes this long
END_SECONDS = 2.0
#: the messages to a child
BEGIN, END = "begin", "end"

#: to be asked between two steps: whether the work may go on
GoesOn = Callable[[], bool]
#: how long it may go on: infinitely while no other process needs its units
SecondsLeft = Callable[[], float]


class ChildLost(Exception):
    """The child ended and left no result: it failed, which the log says, or it was killed."""


class ChildProcess:
    """A child that waits until its result is asked for."""

    def __init__(self, process: BaseProcess, pipe: Connection) -> None:
        self._process, self._pipe = process, pipe

    def result(self, goes_on: GoesOn, seconds_left: SecondsLeft) -> str | None:
        """Let it work; what the work returns, or None if no time was left first. The child is gone
        then. Raises ChildLost.
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
        """Kill it, if it still lives, and wait until its memory is free."""
        self._process.kill()
        self._process.join()


@contextmanager
def child_process(work: Callable[[GoesOn], str]) -> Iterator[ChildProcess]:
    """A child for some work; it is gone after the block, with its temporary files. If this process
    dies, the kernel ends it.

    To be called by the main thread while there is no other: it forks.
    """
    connections.close_all()  # a connection from before the fork belongs to one process
    ours, theirs = FORK.Pipe()
    with work_folder() as folder, ours:
        process = FORK.Process(target=_work, args=(work, ours, theirs, folder.path))
        process.start()
        theirs.close()
        child = ChildProcess(process, ours)
        try:
            yield child
        finally:
            child.end()


def _work(
    work: Callable[[GoesOn], str], parents: Connection, pipe: Connection, folder: Path
) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # it comes when the parent dies
    stop_with_parent()
    parents.close()
    tempfile.tempdir = str(folder)
    with suppress(EOFError, ConnectionError):  # the parent is gone
        pipe.recv()
        pipe.send(work(lambda: not pipe.poll()))
