"""RQ jobs that call only our own functions. Redis stores the function's name and the ids of rows.
RQ itself calls any importable function that Redis names, so a program that can write to Redis could
run any code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rq.exceptions import DeserializationError
from rq.job import Job
from rq.queue import Queue
from rq.worker import SpawnWorker

from crawling.jobs.rq_jobs import RUN_JOB

REFUSED = "refused: Redis names a job that is none of crawlsite's"


#: the fields of a job's hash in Redis, besides its function, that RQ calls or reads
BESIDE = ("success_callback_name", "failure_callback_name", "stopped_callback_name", "webhooks")
RUN_SHIFT = "crawling.fetching.worker.jobs.run_shift"
#: all functions that workers call, as dotted paths
FUNCTIONS = frozenset({RUN_SHIFT, RUN_JOB})


class ForeignJob(Exception):
    """A job that is not one of ours."""


class OwnJob(Job):
    """A job as workers read it from Redis. `RQ` in the settings names this class."""

    def restore(self, raw_data: Mapping[Any, Any]) -> None:
        """Read the job without callbacks and webhooks, which ours do not have."""
        super().restore(raw_data)
        self._success_callback_name = None
        self._failure_callback_name = None
        self._stopped_callback_name = None
        self.webhooks = []

    @property
    def is_ours(self) -> bool:
        """Whether the job calls one of our functions with ids of rows."""
        try:
            function, instance, arguments, named = self.serializer.loads(self.data)
        except (ValueError, TypeError, DeserializationError):
            return False
        return (
            isinstance(function, str)
            and function in FUNCTIONS
            and instance is None
            and isinstance(arguments, list)
            and all(type(argument) is int for argument in arguments)
            and not named
        )

    @property
    def func(self) -> Callable[..., Any] | None:
        """Raises ForeignJob."""
        if not self.is_ours:
            raise ForeignJob(REFUSED)
        function: Callable[..., Any] | None = super().func
        return function


class OwnSpawnWorker(SpawnWorker):
    """RQ's worker for systems where it cannot fork. Its work process uses RQ's own class of jobs.
    So this class refuses foreign jobs first, and removes the callbacks that RQ's class would call
    with our own jobs.
    """

    def execute_job(self, job: Job, queue: Queue) -> None:
        if isinstance(job, OwnJob) and job.is_ours:
            self.connection.hdel(job.key, *BESIDE)
            super().execute_job(job, queue)
            return
        self.prepare_execution(job)
        self.handle_job_failure(job, queue, exc_string=REFUSED)
