"""Real workers and a real scheduler beside a test, on the test's own database and Redis."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import django_rq
import psutil
from django.conf import settings as project
from django.db import connection
from rq import Queue

from crawling.jobs.rq_jobs import BACKGROUND as BACKGROUND_QUEUE
from crawling.jobs.rq_jobs import IDLE, SHIFTS
from tests.forked import Program

WORKER = [
    "rqworker",
    "--skip-checks",
    "shifts",
    "--worker-class",
    "crawling.fetching.worker.rq_worker.ShiftWorker",
    "--serializer",
    "json",
    "--worker-ttl",
    "60",
]
BACKGROUND_WORKER = "crawling.fetching.worker.background_worker.BackgroundWorker"
BACKGROUND = [
    *("rqworker", "--skip-checks", "background", "imports", "idle"),
    *("--worker-class", BACKGROUND_WORKER),
    *("--serializer", "json"),
]
SCHEDULER = ["scheduler", "--skip-checks"]


@dataclass
class Stack:
    """The processes started so far. `log` takes their output."""

    log: Path
    env: dict[str, str]
    processes: list[Program] = field(default_factory=list)

    def start(self, command: list[str]) -> Program:
        self.processes.append(Program(command, self.env, self.log))
        return self.processes[-1]

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(60)  # a busy machine may need this long


@contextmanager
def running_stack(tmp_path: Path, **settings: str) -> Iterator[Stack]:
    """Yield a stack without processes; those that the test starts are stopped at the end."""
    assert not connection.in_atomic_block, "processes see what is committed: use transactional_db"
    env = {
        **os.environ,
        "DATABASE_URL": test_database_url(),
        "LOG_LEVEL": "INFO",
        "ARCHIVE_DIR": str(project.ARCHIVE_DIR),
        **settings,
    }
    stack = Stack(tmp_path / "stack.log", env)
    forget_jobs()
    try:
        yield stack
    finally:
        stack.stop()


@contextmanager
def background_queue() -> Iterator[Queue]:
    """Yield the queue of background jobs; it is empty at the start and at the end, and so is that
    of idle jobs. Ids of rows begin anew with each test database, so jobs of an earlier one could be
    taken for ours.
    """
    queues = [django_rq.get_queue(name) for name in (BACKGROUND_QUEUE, IDLE)]
    queues[0].connection.flushdb()
    yield queues[0]
    for queue in queues:
        queue.empty()


def forget_jobs() -> None:
    """Delete all jobs. Ids begin anew with each test database, so jobs of an earlier one could be
    taken for ours.
    """
    redis = django_rq.get_connection(SHIFTS)
    for key in redis.scan_iter("rq:job:shift-*"):
        redis.delete(key)


def database_url(name: str) -> str:
    """The address of another database of the server that the tests use."""
    parts = connection.settings_dict
    return (
        f"postgresql://{parts['USER']}@/{name}?host={quote(parts['HOST'], safe='')}&port="
        f"{parts['PORT'] or 5432}"
    )


def test_database_url() -> str:
    return database_url(connection.settings_dict["NAME"])


test_database_url.__test__ = False


def work_process_of(worker: Program) -> psutil.Process | None:
    """The child in which the worker runs its job, if it has one."""
    children = psutil.Process(worker.pid).children()
    return children[0] if children else None


def wait_until(condition: Callable[[], object], *, seconds: float = 90.0) -> None:
    """Check the condition again and again until it is true; fail when that takes too long."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, "it did not come to pass"
        pause(began)


def pause(began: float) -> None:
    """Sleep between two checks, in a wait that began at this monotonic time.

    The longer it has taken, the rarer are the checks, down to ten a second: a check takes
    milliseconds of the processor, which the awaited processes need.
    """
    passed = time.monotonic() - began
    time.sleep(min(0.1, max(0.02, passed / 20)))
