"""The RQ worker of background jobs: it ends a job that a user has cancelled."""

from __future__ import annotations

import signal
import time
from types import FrameType
from typing import Any

from django.db import DatabaseError, connections
from redis.exceptions import RedisError
from rq import Queue, Worker
from rq.job import Job

from crawling.fetching.worker.own_jobs import OwnJob, OwnSpawnWorker
from crawling.jobs.cancel import clear_cancelled_job, is_to_be_ended
from crawling.jobs.rq_jobs import RUN_JOB, remove_rq_job
from crawling.machine.orphans import stop_with_parent

#: RQ's timer takes whole seconds
LOOK_SECONDS = 1
#: the time that a job has to release its units once it is told to end; after that it is killed
GRACE_SECONDS = 2.0
#: the tries, and the seconds between them, to remove what a killed job has left; after them the
#: scheduler continues
CLEAR_TRIES, CLEAR_SECONDS = 10, 0.2


class _EndsCancelledJobs(Worker):
    """Checks each second whether a user has cancelled the running job."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.job_monitoring_interval = LOOK_SECONDS
        #: when the running job was told to end; 0 if it was not
        self._told_at = 0.0

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        """Close the connection of the previous job, which must not be shared with a work
        process.
        """
        connections.close_all()
        self._told_at, self._stopped_job_id = 0.0, None
        super().fork_work_horse(job, queue)

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        """Let the work process end with its parent, since nothing else can end it."""
        stop_with_parent()
        super().main_work_horse(job, queue)

    def setup_work_horse_signals(self) -> None:
        """Let SIGTERM end a job in order, like Ctrl-C, so that each `finally` clause runs."""
        super().setup_work_horse_signals()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGTERM, _interrupt)

    def maintain_heartbeats(self, job: Job) -> None:
        """RQ calls this every LOOK_SECONDS while a work process works."""
        super().maintain_heartbeats(job)
        if self._told_at:
            if time.monotonic() - self._told_at >= GRACE_SECONDS:
                self.kill_horse()
        elif self._is_cancelled(job):
            self.log.info("job %s is cancelled", job.id)
            self._stopped_job_id = job.id
            self._told_at = time.monotonic()
            self.kill_horse(signal.SIGTERM)

    def monitor_work_horse(self, job: Job, queue: Queue) -> None:
        """Never treat a cancelled job as failed, and remove what it has left, however it has
        ended.
        """
        super().monitor_work_horse(job, queue)
        if not self._told_at:
            return
        try:
            self._clear_job(job)
            remove_rq_job(job)
        except (DatabaseError, RedisError) as error:  # the scheduler will do it
            self.log.warning("job %s: what it left is not removed yet: %s", job.id, error)

    def _clear_job(self, job: Job) -> None:
        """Remove what a cancelled job has left. The session of a killed process, and so its lock,
        ends a moment later.
        """
        for _ in range(CLEAR_TRIES):
            if clear_cancelled_job(job.args[0]):
                return
            time.sleep(CLEAR_SECONDS)  # no event shows that PostgreSQL has ended a session

    def handle_exception(self, job: Job, *exc_info: Any) -> None:
        """RQ logs this as an error."""
        if not self._is_cancelled(job):
            super().handle_exception(job, *exc_info)

    def _is_cancelled(self, job: Job) -> bool:
        if not (isinstance(job, OwnJob) and job.is_ours and job.func_name == RUN_JOB):
            return False
        try:
            return is_to_be_ended(job.args[0])
        except DatabaseError as error:  # PostgreSQL may be back at the next look
            self.log.warning("job %s: whether it is cancelled is not known: %s", job.id, error)
            connections.close_all()
            return False


class BackgroundWorker(_EndsCancelledJobs):
    """A worker that forks."""


class BackgroundSpawnWorker(_EndsCancelledJobs, OwnSpawnWorker):
    """A worker for systems where RQ cannot fork."""


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
