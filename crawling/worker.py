"""The RQ worker for shifts: it passes SIGTERM on to its horse, and tells at once when a horse was lost."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType
from typing import Any

from django.db import DatabaseError, connections
from redis.client import Pipeline
from rq import Queue, Worker
from rq.job import Job
from rq.worker_registration import register

import crawling.jobs  # noqa: F401  # a horse is forked from here: what is there already, no shift has to import
from crawling.forking import prepare_to_fork
from crawling.services.losses import lost_a_server, shift_was_lost

PR_SET_PDEATHSIG = 1
#: a worker that was killed keeps its seat for so long, and one that lives says so several times meanwhile
SEAT_SECONDS = 30
SIGN_SECONDS = 8
DIED = "lost: it failed or its operating-system process was killed; the worker's log says how"
SERVER_GONE = "lost: PostgreSQL or Redis went away"
REPORT_AGAIN_AFTER_SECONDS = (0.5, 1, 2, 4, 8, 0)


class ShiftWorker(Worker):
    """A forking worker. Its horse runs one shift and turns SIGTERM into an orderly end of it (`crawling.jobs`)."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        prepare_to_fork()
        self.job_monitoring_interval = SIGN_SECONDS

    @property
    def dequeue_timeout(self) -> int:
        """How long it waits for a job before it gives a sign of life and waits again."""
        return SIGN_SECONDS

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """RQ would wait for the end of the job, which may be minutes away; the horse is told to wind down as well."""
        self._tell_horse()
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]

    def request_force_stop(self, signum: int, frame: FrameType | None) -> None:
        """A second signal is no reason to kill a horse that is winding down: the supervisor has its own limit."""
        self._tell_horse()

    def _tell_horse(self) -> None:
        if self.horse_pid:
            with suppress(ProcessLookupError):  # it may have ended by itself just now
                os.kill(self.horse_pid, signal.SIGTERM)

    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:
        """Redis may have lost everything, and with it who is there; so each sign of life says that again.

        RQ would let a dead worker count for two minutes, in which the bank grants seats that nobody sits on.
        """
        super().heartbeat(SEAT_SECONDS, pipeline)
        register(self, pipeline)

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        """The horse must not outlive a parent that was killed: it is told to wind down then, too."""
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        super().main_work_horse(job, queue)

    def handle_job_failure(self, job: Job, queue: Queue, *args: Any, **kwargs: Any) -> None:
        """RQ calls this in the horse when the job raised, and here when the horse is dead. Either way nobody works on the
        shift any more, so it is closed without waiting for its lease to run out."""
        is_explained = lost_a_server(sys.exception())  # in the horse, the one that the job raised
        try:
            super().handle_job_failure(job, queue, *args, **kwargs)
        finally:
            self._report(job, is_explained=is_explained)

    def _report(self, job: Job, *, is_explained: bool) -> None:
        """Close the shift's books. PostgreSQL may be what failed: it gets some time to come back; after that the lease runs out."""
        process_id, epoch = job.args
        ending = SERVER_GONE if is_explained else DIED
        for wait in REPORT_AGAIN_AFTER_SECONDS:
            try:
                shift_was_lost(process_id, epoch, ending, is_explained=is_explained)
                return
            except DatabaseError as error:
                self.log.warning("shift %s: its loss could not be recorded: %s", job.id, error)
                time.sleep(wait)  # PostgreSQL may need this long to come back; the worker has nothing else to do
            finally:
                connections.close_all()  # a connection opened here must not be shared with the next horse
