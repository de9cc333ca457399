"""The workers of an experiment on shifts: RQ workers like those of crawls, but on a queue of their
own, so that no crawl waits for a worker that is busy with an experiment.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess

import django_rq
from django.conf import settings
from django.db import connections

from crawling.fetching.worker.rq_worker import ShiftWorker
from crawling.jobs.rq_jobs import EXPERIMENT_SHIFTS
from crawling.machine.orphans import stop_with_parent

#: a shift that is told to stop first ends its fetches
LEAVE_SECONDS = 30.0
#: as RQ itself starts a work process: all modules are imported already
FORK = multiprocessing.get_context("fork")


@contextmanager
def running_workers(count: int) -> Iterator[tuple[BaseProcess, ...]]:
    """Run `count` workers until the block ends.

    Only the main thread may call this, while there is no other thread, because this forks. If this
    process dies, the kernel stops the workers, and their shifts end in order.
    """
    workers = tuple(
        FORK.Process(target=_run_worker, name="experiment worker") for _ in range(count)
    )
    try:
        for worker in workers:
            worker.start()
        yield workers
    finally:
        started = [worker for worker in workers if worker.pid]
        for worker in started:
            worker.terminate()
        for worker in started:
            worker.join(LEAVE_SECONDS)
            if worker.is_alive():
                worker.kill()
                worker.join()


def _run_worker() -> None:
    stop_with_parent()
    for connection in connections.all(initialized_only=True):
        connection.connection = None  # the connection is the parent's, with the lock of the job
    queue = django_rq.get_queue(EXPERIMENT_SHIFTS)
    ShiftWorker(
        [queue],
        connection=queue.connection,
        serializer=settings.RQ_SERIALIZER,
        job_class=queue.job_class,
    ).work(logging_level="WARNING")
