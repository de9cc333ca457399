"""Runs the tests in several processes (`-n 6`), which are forked once all tests are collected.

Each process of pytest-xdist imports the product and collects all tests for itself, fifteen seconds
of a processor in each. Ours share the modules and tests of the first process, with their memory.

Each process begins with a block of tests of its own, in their order, so that fixtures of modules
serve as long as in one process; a process that has finished its own takes over half of another's
rest. If a process dies, only its current test is lost, and another process takes its place.

Loaded by `-p` in pyproject.toml.
"""

from __future__ import annotations

import multiprocessing
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import pytest
from _pytest._io import TerminalWriter
from django.conf import settings
from django.db import connections
from django.utils.log import configure_logging

from tests.processes.redis_databases import take_database

FORK = multiprocessing.get_context("fork")
LAST_SECONDS = 60.0


def pytest_addoption(parser: pytest.Parser) -> None:
    # only pytest's own group accepts short options in lower case
    parser.getgroup("general")._addoption(
        "-n", dest="processes", metavar="N", type=int, default=0, help="run tests in N processes"
    )


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    option = session.config.option
    if option.collectonly or session.testsfailed or option.processes < 1 or not session.items:
        return None  # use the usual loop, in this process
    # make the base folder, below which those of the workers are
    session.config._tmp_path_factory.getbasetemp()
    connections.close_all()
    Pool(session, option.processes).run()
    return True


@dataclass(eq=False)
class Worker:
    """A process that runs tests, as the first process sees it."""

    number: int
    process: BaseProcess
    connection: Connection
    #: the tests that it will get, as indexes into the list of all
    block: deque[int]
    #: the tests that it has been sent: the one that it runs, and the next
    given: deque[int] = field(default_factory=deque)
    #: whether it has been told that no more tests will follow
    is_last: bool = False

    def give(self, index: int | None) -> None:
        if index is None:
            self.is_last = True
        else:
            self.given.append(index)
        self.connection.send(index)


class Pool:
    def __init__(self, session: pytest.Session, processes: int) -> None:
        self._session = session
        self._workers: list[Worker] = []
        self._started = 0
        total = len(session.items)
        ends = [total * number // processes for number in range(processes + 1)]
        self._blocks = [deque(range(*pair)) for pair in pairwise(ends)]

    def run(self) -> None:
        try:
            for block in filter(None, self._blocks):
                self._start(block)
            while self._workers:
                for connection in wait([worker.connection for worker in self._workers]):
                    self._hear(next(x for x in self._workers if x.connection is connection))
                self._check_limits()
        finally:
            for worker in self._workers:
                worker.process.kill()

    def _start(self, block: deque[int]) -> None:
        ours, theirs = FORK.Pipe()
        number, self._started = self._started, self._started + 1
        others = [ours, *(worker.connection for worker in self._workers)]
        process = FORK.Process(target=_work, args=(self._session, number, theirs, others))
        # libraries have threads, which wait for work, so the fork would warn
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        worker = Worker(number, process, ours, block)
        self._workers.append(worker)
        for _ in range(2):
            self._give_next(worker)

    def _give_next(self, worker: Worker) -> None:
        if worker.is_last:
            return
        if not worker.block:
            self._take_over(worker)
        worker.give(worker.block.popleft() if worker.block else None)

    def _take_over(self, worker: Worker) -> None:
        """Take half of the longest block that is left, from its end, but not a single test."""
        longest = max((other.block for other in self._workers), key=len)
        for _ in range(len(longest) // 2):
            worker.block.appendleft(longest.pop())

    def _hear(self, worker: Worker) -> None:
        try:
            kind, content = worker.connection.recv()
        except (EOFError, ConnectionError):
            self._bury(worker)
            return
        config = self._session.config
        if kind == "report":
            report = config.hook.pytest_report_from_serializable(config=config, data=content)
            config.hook.pytest_runtest_logreport(report=report)
        elif kind == "done":
            worker.given.remove(content)
            self._give_next(worker)
        else:
            raise RuntimeError(f"a process of the suite failed outside a test:\n{content}")

    def _bury(self, worker: Worker) -> None:
        """Report the test in which the worker died, if there was one, and let another worker do the
        rest.
        """
        self._workers.remove(worker)
        worker.process.join(LAST_SECONDS)
        if not worker.given:
            return
        item = self._session.items[worker.given.popleft()]
        report = pytest.TestReport(
            item.nodeid,
            item.location,
            keywords={},
            outcome="failed",
            longrepr=f"the process of this test ended with {worker.process.exitcode}",
            when="call",
        )
        self._session.config.hook.pytest_runtest_logreport(report=report)
        if rest := worker.given + worker.block:
            self._start(rest)

    def _check_limits(self) -> None:
        """Raise as pytest's own loop does, for `--exitfirst` and the like."""
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)


def _work(
    session: pytest.Session, number: int, connection: Connection, others: list[Connection]
) -> None:
    """Run, in a worker, the tests whose indexes the connection sends. The next one is sent with
    each, since fixtures end before a test that does not share them.
    """
    for other in others:
        other.close()
    try:
        with _of_its_own(session.config, number, connection):
            index = connection.recv()
            while index is not None:
                following = connection.recv()
                session.config.hook.pytest_runtest_protocol(
                    item=session.items[index],
                    nextitem=None if following is None else session.items[following],
                )
                connection.send(("done", index))
                index = following
    except (EOFError, ConnectionError, KeyboardInterrupt):
        pass  # the run has ended
    except BaseException:
        connection.send(("error", traceback.format_exc()))
        raise


@contextmanager
def _of_its_own(config: pytest.Config, number: int, connection: Connection) -> Iterator[None]:
    """Set names, folders and captured output that no other worker has."""
    config.workerinput = {"workerid": f"gw{number}"}  # as pytest-django expects it
    take_database(number)
    folders = config._tmp_path_factory
    folders._basetemp = folders.getbasetemp() / f"gw{number}"
    folders._basetemp.mkdir(mode=0o700)
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(_Terminal(), name="terminalreporter")
    plugins.register(_Reporter(config, connection))
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    # its stream was opened before the capture began
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    yield
    capture.stop_global_capturing()


class _Terminal:
    """Prints no results; pytest-timeout needs it, for the stacks of a test that takes too long."""

    def __init__(self) -> None:
        self._tw = TerminalWriter(sys.__stderr__)


class _Reporter:
    """A plugin of workers."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config, self._connection = config, connection

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._connection.send(("report", data))
