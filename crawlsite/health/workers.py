"""The workers in Redis, the job of each, and how long the first job of each queue has waited."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from socket import gethostname

import django_rq
import psutil
from django.conf import settings
from rq import Queue, Worker
from rq.exceptions import NoSuchJobError
from rq.job import Job
from rq.worker import BaseWorker
from rq.worker_registration import clean_worker_registry

from crawling.fetching.worker.own_jobs import RUN_SHIFT
from crawling.jobs.rq_jobs import SHIFTS, browser_of_worker, browser_trouble
from crawling.models import RunProcess


@dataclass(frozen=True)
class CurrentTask:
    what: str
    crawl: int | None
    since: datetime | None


@dataclass(frozen=True)
class WorkerRow:
    name: str
    queues: tuple[str, ...]
    host: str
    pid: int | None
    state: str
    task: CurrentTask | None
    beat: datetime | None
    began: datetime | None
    #: the number of jobs since it began
    done: int
    #: the number of failed jobs since it began
    failed: int
    #: the memory of the worker and its work process in bytes, if it runs on this machine
    memory: int | None
    #: the pages of its browser and their memory
    browser_pages: int
    browser_mebibytes: int
    #: why it has no browser, or why its browser did not start; empty for workers that never render
    why_no_browser: str


@dataclass(frozen=True)
class QueueRow:
    name: str
    length: int
    #: the time when its first job was queued
    oldest: datetime | None
    #: the number of jobs that raised an error and are kept
    failed: int


def worker_rows() -> list[WorkerRow]:
    """All workers, sorted by their queues and by name. Raises RedisError."""
    for queue in _queues():
        clean_worker_registry(queue)
    workers = Worker.all(
        connection=django_rq.get_connection(SHIFTS), serializer=settings.RQ_SERIALIZER
    )
    found = sorted(workers, key=lambda worker: (worker.queue_names(), worker.name))
    jobs = [_job_of(worker) for worker in found]
    crawls = _crawls_of(jobs)
    return [
        _worker_row(worker, _current_task(job, crawls) if job else None)
        for worker, job in zip(found, jobs, strict=True)
    ]


def queue_rows() -> list[QueueRow]:
    """The queues, each with the time for which its first job has waited. Raises RedisError."""
    return [_queue_row(queue) for queue in _queues()]


def _queues() -> list[Queue]:
    return [django_rq.get_queue(name) for name in settings.RQ_QUEUES]


def _queue_row(queue: Queue) -> QueueRow:
    first = next(iter(queue.get_jobs(0, 1)), None)
    return QueueRow(
        queue.name,
        queue.count,
        _in_utc(first.enqueued_at) if first else None,
        queue.failed_job_registry.count,
    )


def _worker_row(worker: BaseWorker, task: CurrentTask | None) -> WorkerRow:
    units, why = browser_of_worker(worker)
    return WorkerRow(
        name=worker.name,
        queues=tuple(worker.queue_names()),
        host=worker.hostname or "",
        pid=worker.pid,
        state=str(worker.get_state()),
        task=task,
        beat=_in_utc(worker.last_heartbeat),
        began=_in_utc(worker.birth_date),
        done=worker.successful_job_count,
        failed=worker.failed_job_count,
        memory=_memory_bytes(worker.pid)
        if worker.hostname == gethostname() and worker.pid
        else None,
        browser_pages=units.pages,
        browser_mebibytes=units.mebibytes,
        why_no_browser=why or (browser_trouble(worker.hostname or "") if units.pages else ""),
    )


def _job_of(worker: BaseWorker) -> Job | None:
    try:
        return worker.get_current_job()
    except NoSuchJobError:
        return None  # the job has just ended and is not kept, or Redis has lost it


def _crawls_of(jobs: list[Job | None]) -> dict[int, tuple[int, str]]:
    """For each process of the pool with a shift among these jobs, the number and the name of the
    crawl.
    """
    processes = [job.args[0] for job in jobs if job and job.func_name == RUN_SHIFT]
    found = RunProcess.objects.filter(bank_process__in=processes)
    return {
        process: (crawl, name)
        for process, crawl, name in found.values_list(
            "bank_process", "run__crawl", "run__crawl__name"
        )
    }


def _current_task(job: Job, crawls: dict[int, tuple[int, str]]) -> CurrentTask:
    crawl, name = (
        crawls.get(job.args[0], (None, None)) if job.func_name == RUN_SHIFT else (None, None)
    )
    return CurrentTask(
        name or str(job.func_name).rpartition(".")[2].replace("_", " "),
        crawl,
        _in_utc(job.started_at),
    )


def _memory_bytes(pid: int) -> int | None:
    try:
        worker = psutil.Process(pid)
        return sum(int(one.memory_info().rss) for one in (worker, *worker.children(recursive=True)))
    except psutil.Error:
        return None  # the shift has just ended, or belongs to another user


def _in_utc(time: datetime | None) -> datetime | None:
    """The time with its zone. RQ gives some times without their zone, which is UTC."""
    return time.replace(tzinfo=UTC) if time and time.tzinfo is None else time
