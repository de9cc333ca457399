"""The queues of RQ, their workers, and RQ jobs that do the work of a row: queued once, found again,
removed. The record of a job in RQ is not enough: Redis may have lost it, or a killed worker may
have left it behind.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from socket import gethostname
from typing import Any

import django_rq
from django.conf import settings
from django.core.cache import cache
from django.utils import timezone
from redis.client import Pipeline
from redis.exceptions import RedisError
from rq import Queue, Worker
from rq.exceptions import InvalidJobOperation
from rq.executions import Execution
from rq.job import Job, JobStatus
from rq.utils import as_text
from rq.worker import BaseWorker
from rq.worker_registration import clean_worker_registry

from crawling.base.sessions import session_lock
from crawling.machine.browser import BrowserUnits

logger = logging.getLogger(__name__)

#: the queues: of shifts, of shifts that render pages (whose workers have a browser), of the shifts
#: of experiments (which start their own workers), of background jobs that users request, of
#: background jobs that no user requests, and of imports, which may take hours. The last two have
#: their own workers
SHIFTS = "shifts"
RENDERING = "rendering"
EXPERIMENT_SHIFTS = "experiments"
BACKGROUND = "background"
IDLE = "idle"
IMPORTS = "imports"
#: the fields of a worker's entry in Redis about its browser
OF_BROWSER = ("browser_pages", "browser_mebibytes")
#: the field that says why it has none, and the key of the reason why the browser of a machine did
#: not start when it was needed last, in the cache
WHY_NO_BROWSER, BROWSER_TROUBLE = "why_no_browser", "browser-trouble/{}"
#: the seconds for which that reason is kept
TROUBLE_SECONDS = 24 * 3600
RUN_JOB = "crawling.jobs.running.run_job"
#: the beginning of the ids of background jobs in RQ, and of the names of their locks
JOB = "job"
#: the key of the mark that puts a job before the others of its queue, in the cache, and the seconds
#: for which the mark is valid
FIRST, FIRST_SECONDS = "first/{}", 60
#: jobs put first go ahead of the other jobs of IDLE: the key of the time at which they began to,
#: the longest such time, and the seconds for which the key is kept while none of them works
AHEAD_SINCE, MOST_AHEAD_SECONDS, AHEAD_KEPT_SECONDS = "idle-ahead", 30.0, 60
#: the number of jobs at the front of a queue among which a job that was not put first is sought
LOOKED_AT_JOBS = 50
#: a worker reports every half minute that its job continues; RQ itself looks for lost jobs every
#: ten minutes
SILENT_WORKER = timedelta(seconds=90)
#: the time between a job's removal from the queue and its beginning, usually milliseconds. A worker
#: that is killed in between leaves the job there
ON_ITS_WAY = timedelta(seconds=5)


@dataclass(frozen=True)
class RowJob:
    """RQ jobs each of which does the work of one row (RUN_JOB)."""

    #: the seconds after which RQ ends a job
    seconds: int
    #: BACKGROUND, or IDLE for jobs that no user requests
    queue: str = BACKGROUND
    #: whether a job precedes others of its queue, since a user waits for it on a page
    at_front: bool = False

    def enqueue(self, pk: int, *, at_front: bool = False) -> None:
        """Raises RedisError."""
        if self.at_front and self.queue == IDLE:
            self._mark_first(pk)  # working jobs give way to this job, too
        self._queue().enqueue_call(
            RUN_JOB,
            args=(pk,),
            job_id=self._id(pk),
            timeout=self.seconds,
            failure_ttl=settings.RQ_FAILED_JOBS_SECONDS,
            at_front=self.at_front or at_front,
        )

    def ask(self, pk: int) -> None:
        """Queue the job, unless a worker will take it. Without Redis the scheduler, which checks
        the rows, queues it later.
        """
        try:
            self.enqueue_if_lost(pk)
        except RedisError as error:
            facts = {"job": self._id(pk), "error": str(error)}
            logger.warning("a job cannot be queued", extra=facts)

    def enqueue_if_lost(self, pk: int, *, at_front: bool = False) -> bool:
        """Queue the job again unless a worker will take it or works on it. If its worker was
        killed, the job precedes others. Raises RedisError.
        """
        queue, had_begun = self._queue(), False
        job = queue.fetch_job(self._id(pk))
        if job is not None:
            had_begun = job.get_status() == JobStatus.STARTED
            if is_awaiting_worker(queue, job) or is_being_worked_on(job):
                return False
            remove_rq_job(job)
        self.enqueue(pk, at_front=at_front or had_begun)
        return True

    def enqueue_lost(self, pks: Iterable[int]) -> None:
        """Queue the lost jobs of these rows again. The queue is read once, since thousands of jobs
        may wait in it. Raises RedisError.
        """
        if wanted := list(pks):
            waiting = set(self._queue().get_job_ids())
            for pk in wanted:
                if self._id(pk) not in waiting:
                    self.enqueue_if_lost(pk)

    def put_first(self, pk: int) -> None:
        """Put the job before the others of its queue, for FIRST_SECONDS. Working jobs give way to
        it, unless it is the turn of the jobs that were not put first. Safe to repeat. Raises
        RedisError.
        """
        queue, is_front = self._queue(), not is_turn_of_others()
        self._mark_first(pk)
        # a job that a worker takes at this very moment is not queued again
        if is_front and queue.connection.lrem(queue.key, 1, self._id(pk)):
            queue.push_job_id(self._id(pk), at_front=True)
        else:
            self.enqueue_if_lost(pk, at_front=is_front)

    def _mark_first(self, pk: int) -> None:
        cache.set(FIRST.format(self._id(pk)), True, timeout=FIRST_SECONDS)

    def is_first(self, pk: int) -> bool:
        """Raises RedisError."""
        return cache.get(FIRST.format(self._id(pk))) is not None

    def withdraw(self, pk: int) -> None:
        """Remove the job from Redis, unless a worker has just taken it off the queue. To be called
        when no worker works on it. Raises RedisError.
        """
        queue = self._queue()
        job = queue.fetch_job(self._id(pk))
        if job is None:
            return
        is_taken = queue.get_job_position(job.id) is None
        if job.get_status() != JobStatus.QUEUED or not is_taken:
            remove_rq_job(job)

    @contextmanager
    def alone(self, pk: int) -> Iterator[bool]:
        """Yield whether no other process works on the row. No other process begins to work on it
        until the block ends.
        """
        with exclusive_lock(JOB, pk) as is_alone:
            yield is_alone

    def _queue(self) -> Queue:
        return django_rq.get_queue(self.queue)

    def _id(self, pk: int) -> str:
        return f"{JOB}-{pk}"


@contextmanager
def exclusive_lock(name: str, number: int) -> Iterator[bool]:
    """Yield whether no other process is in a block with the same name and number. PostgreSQL
    releases the lock when a process dies.
    """
    with session_lock("hashtext(%s), %s", (name, number % 2**31), waits=False) as is_alone:
        yield is_alone


def live_workers() -> int:
    """The number of workers for shifts.

    A killed worker counts until its entry in Redis expires: half a minute.
    """
    queue = django_rq.get_queue(SHIFTS)
    clean_worker_registry(queue)  # RQ itself does this only every ten minutes
    return int(Worker.count(queue=queue))


def note_browser_units(
    worker: Worker, units: BrowserUnits | None, why_none: str, pipeline: Pipeline | None = None
) -> None:
    """Say in Redis what the browser of a worker may have, or why it has none, for as long as the
    worker's entry lasts. Raises RedisError.
    """
    connection = worker.connection if pipeline is None else pipeline
    pages, mebibytes = units or BrowserUnits(0, 0)
    names = (*OF_BROWSER, WHY_NO_BROWSER)
    told = dict[Any, Any](zip(names, (pages, mebibytes, why_none), strict=True))
    connection.hset(worker.key, mapping=told)


def browser_of_worker(worker: BaseWorker) -> tuple[BrowserUnits, str]:
    """The units of a worker's browser, and the reason why it has none. Raises RedisError."""
    names = (*OF_BROWSER, WHY_NO_BROWSER)
    pages, mebibytes, why = worker.connection.hmget(worker.key, names)
    return BrowserUnits(int(pages or 0), int(mebibytes or 0)), as_text(why or b"")


def note_browser_trouble(why: str) -> None:
    """Note why the browser of this machine does not start, or by an empty text that it does.
    Without Redis, nothing is noted.
    """
    key = BROWSER_TROUBLE.format(gethostname())
    with suppress(RedisError):
        if why:
            cache.set(key, why, timeout=TROUBLE_SECONDS)
        else:
            cache.delete(key)


def browser_trouble(host: str) -> str:
    """Why the browser of a machine did not start when it was needed last; empty if it did. Raises
    RedisError.
    """
    return cache.get(BROWSER_TROUBLE.format(host)) or ""


def live_browsers() -> BrowserUnits:
    """The units of the browsers of all workers for shifts. Raises RedisError."""
    queue = django_rq.get_queue(RENDERING)
    clean_worker_registry(queue)
    rows = [queue.connection.hmget(key, OF_BROWSER) for key in Worker.all_keys(queue=queue)]
    pages, mebibytes = (sum(int(row[place] or 0) for row in rows) for place in (0, 1))
    return BrowserUnits(pages, mebibytes)


def is_background_wanted() -> bool:
    """Whether a job waits for a worker of background jobs. Raises RedisError."""
    return any(django_rq.get_queue(name).count for name in (BACKGROUND, IDLE))


def is_user_waiting() -> bool:
    """Whether a job that a user requested waits for a worker. Raises RedisError."""
    return bool(django_rq.get_queue(BACKGROUND).count)


def is_first_job_waiting() -> bool:
    """Whether a job of IDLE that was put first waits for its worker. Raises RedisError."""
    ahead = django_rq.get_queue(IDLE).get_job_ids(0, 1)
    return bool(ahead) and cache.get(FIRST.format(ahead[0])) is not None


def note_first_jobs_go_ahead() -> None:
    """Note that a job of IDLE that was put first is working, so that the other jobs wait. Raises
    RedisError.
    """
    now = timezone.now().timestamp()
    if not cache.add(AHEAD_SINCE, now, timeout=AHEAD_KEPT_SECONDS):
        cache.touch(AHEAD_SINCE, timeout=AHEAD_KEPT_SECONDS)


def is_time_of_first_jobs_over() -> bool:
    """Whether jobs that were put first have gone ahead for the longest time allowed. Raises
    RedisError.
    """
    since = cache.get(AHEAD_SINCE)
    return since is not None and timezone.now().timestamp() - since >= MOST_AHEAD_SECONDS


def is_turn_of_others() -> bool:
    """Whether jobs that were put first have gone ahead for the longest time allowed, and another
    job waits. Raises RedisError.
    """
    if not is_time_of_first_jobs_over():
        return False
    waiting = django_rq.get_queue(IDLE).get_job_ids(0, LOOKED_AT_JOBS)
    return len(cache.get_many(map(FIRST.format, waiting))) < len(waiting)


def note_turn_of_others() -> None:
    """Note that a job of IDLE that was not put first has had its turn. Raises RedisError."""
    cache.delete(AHEAD_SINCE)


def is_being_worked_on(job: Job) -> bool:
    """Whether a live worker works on the job."""
    status, heard_at = job.get_status(), job.last_heartbeat
    return (
        status == JobStatus.STARTED
        and heard_at is not None
        and timezone.now() - heard_at < SILENT_WORKER
    )


def is_awaiting_worker(queue: Queue, job: Job) -> bool:
    """Whether a worker will take the job, which is in the queue or has just been taken off it.

    The job's own state is not enough, since a worker that is killed before it begins does not
    change it.
    """
    if job.get_status() != JobStatus.QUEUED:
        return False
    if queue.get_job_position(job.id) is not None:
        return True
    taken, this_time = queue.intermediate_queue, f"{job.id}@{job.enqueued_at}"
    taken.set_first_seen(this_time)
    seen = taken.get_first_seen(this_time)
    # if a worker has several queues, RQ does not record which jobs it takes off them
    may_be_taken = queue.name != EXPERIMENT_SHIFTS or job.id in taken.get_job_ids()
    return may_be_taken and seen is not None and timezone.now() - seen < ON_ITS_WAY


def remove_rq_job(job: Job) -> None:
    """Delete a job whose worker may be lost. Another process may have deleted it already.

    For a minute after the loss RQ's own method raises ValueError: the execution has expired, but
    its id is still registered.
    """
    for execution_id in job.execution_registry.get_execution_ids():
        with job.connection.pipeline() as pipeline:
            Execution(id=execution_id, job_id=job.id, connection=job.connection).delete(
                job, pipeline
            )
            pipeline.execute()
    with suppress(InvalidJobOperation):  # the job no longer exists
        job.delete()
    Queue(job.origin, job.connection).intermediate_queue.remove(job.id)
