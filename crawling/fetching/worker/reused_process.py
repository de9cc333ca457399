"""An RQ worker whose work process performs further jobs, as long as the process is as good as a new
one.

RQ forks a work process for each job. A small shift spends more on that than on its pages: the new
process copies each part of the worker's memory that it changes, and opens a session of PostgreSQL,
which reads the catalogue anew (docs/decisions/0145).
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from django.db import connections
from redis.client import Pipeline
from rq import Queue, Worker
from rq.executions import Execution
from rq.job import Job
from rq.worker import WorkerStatus

from crawling.machine.memory_limit import MIB, resident_bytes

logger = logging.getLogger(__name__)

#: a work process that has grown by more than this, or has performed this many jobs, is replaced
GROWN_BYTES, MOST_JOBS = 32 * MIB, 100
#: a work process that has had no job for this time is ended at the worker's next heartbeat
IDLE_SECONDS = 5.0
#: the answer of a work process that has done its job and can perform another
READY = b"+"
#: the longest line: a job's id and its execution's id are shorter
LINE_BYTES = 1000


class ReusedProcessWorker(Worker):
    """A forking worker. It sends each further job to its work process by a pair of sockets. RQ's
    own records, time limits and handling of failures are unchanged.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # the worker's end; before the fork, the work process's end, too
        self._link: socket.socket | None = None
        self._its_link: socket.socket | None = None
        #: the idle work process, and since when it is idle; 0 if there is none
        self._spare_pid, self._spare_since = 0, 0.0
        #: the memory of a work process at its start in bytes, and the number of jobs that it has
        #: performed
        self._began_with = self._performed = 0

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Give the job to an idle work process. RQ's own method forks a work process for each
        job.
        """
        self.prepare_execution(job)
        self.make_ready()
        if not self._pass_on(job):
            self.fork_work_horse(job, queue)
        self.monitor_work_horse(job, queue)
        self.set_state(WorkerStatus.IDLE)

    def make_ready(self) -> None:
        """Called before each job."""

    def _pass_on(self, job: Job) -> bool:
        """Pass the job to an idle work process. Return whether there was one."""
        if not (self._spare_pid and self._link and self.execution):
            return False
        try:
            self._link.recv(len(READY))
            self._link.sendall(f"{job.id} {self.execution.id}\n".encode())
        except ConnectionError:  # the process was killed meanwhile
            self._end_spare()
            return False
        self._horse_pid, self._spare_pid = self._spare_pid, 0
        return True

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        """Fork a work process that shares nothing open with the worker except its link."""
        self._end_spare()
        connections.close_all()
        if self._link:
            self._link.close()
        self._link, self._its_link = socket.socketpair()
        super().fork_work_horse(job, queue)
        self._its_link.close()

    def wait_for_horse(self) -> Any:
        """Wait until the job is done or its work process has ended. Return process id, status and
        resource usage, as `os.wait4` does.
        """
        assert self._link
        try:
            # RQ's alarm may interrupt this at any point, so the answer is left for the next call
            answer = self._link.recv(len(READY), socket.MSG_PEEK)
        except ConnectionError:
            answer = b""
        if not answer:
            return super().wait_for_horse()
        self._spare_pid, self._spare_since = self.horse_pid, time.monotonic()
        return self.horse_pid, os.EX_OK, None

    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:
        """End an idle work process, which keeps memory and a session of PostgreSQL. This comes
        first, since Redis may be away.
        """
        if self._spare_pid and time.monotonic() - self._spare_since > IDLE_SECONDS:
            self._end_spare()
        super().heartbeat(timeout, pipeline)

    def teardown(self) -> None:
        """RQ calls this when the worker ends."""
        self._end_spare()
        super().teardown()  # type: ignore[no-untyped-call]

    def _end_spare(self) -> None:
        """Kill the idle process, which has nothing to write and may be suspended."""
        if self._spare_pid:
            # a signal to this worker may have interrupted an earlier kill
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._spare_pid, signal.SIGKILL)
                os.waitpid(self._spare_pid, 0)
            self._spare_pid = 0

    # the methods below run in the work process

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        """Close the worker's end of the link here: the end of either process closes the link."""
        assert self._link
        self._link.close()
        self._link = self._its_link
        self._began_with, self._performed = resident_bytes(), 0
        super().main_work_horse(job, queue)

    def perform_job(self, job: Job, queue: Queue) -> bool:
        """Perform this job and each that the worker sends next. Return whether all succeeded."""
        further: Job | None = job
        went_well = True
        while further and went_well:
            went_well = super().perform_job(further, self._queue_of(further))
            self._performed += 1
            further = self._await_job() if went_well and self._is_like_new() else None
        return went_well

    def _queue_of(self, job: Job) -> Queue:
        """The job's queue. It reads dependent jobs from Redis as this worker does: as our own jobs,
        without pickles.
        """
        return self.queue_class(
            job.origin,
            connection=self.connection,
            job_class=self.job_class,
            serializer=self.serializer,
        )

    def _is_like_new(self) -> bool:
        """Whether this process is as good as a new one. Garbage that shifts leave is collected
        first, since it would count as growth.
        """
        gc.collect()
        return (
            self._performed < MOST_JOBS
            and threading.active_count() == 1
            and resident_bytes() - self._began_with < GROWN_BYTES
        )

    def _await_job(self) -> Job | None:
        """The next job. None if the worker has ended. Any error ends this process and costs the
        job.
        """
        assert self._link
        self._link.sendall(READY)
        if not (line := self._link.recv(LINE_BYTES)):
            return None
        try:
            return self._read_job(*line.decode().split())
        # the error is raised again and ends this process; otherwise the log would not say why
        except Exception:
            logger.exception("a further job cannot be read")
            raise

    def _read_job(self, job_id: str, execution_id: str) -> Job:
        for connection in connections.all(initialized_only=True):
            if connection.connection is not None and not connection.is_usable():
                connection.close()
        job = self.job_class.fetch(job_id, connection=self.connection, serializer=self.serializer)
        self.execution = Execution.fetch(execution_id, job_id, connection=self.connection)
        return job
