"""The RQ jobs of the scheduler, and the pool's messages that cause them. For a granted start a job
is made; a lost shift is closed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection
from datetime import timedelta

import django_rq
from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone
from redis.exceptions import RedisError
from rq import Queue
from rq.exceptions import DuplicateJobError
from rq.job import JobStatus

from allocation.models import Grant, OutboxKind
from allocation.services import (
    OutboxMessage,
    grant_waiting_requests_of_pool,
    mark_sent,
    unsent_outbox,
)
from crawling.fetching.worker.own_jobs import RUN_SHIFT
from crawling.jobs.cancel import clear_cancelled_jobs
from crawling.jobs.job_rows import open_jobs
from crawling.jobs.kinds import job_kinds
from crawling.jobs.rq_jobs import (
    EXPERIMENT_SHIFTS,
    RENDERING,
    SHIFTS,
    is_awaiting_worker,
    remove_rq_job,
)
from crawling.orders.claims import BROWSER_PAGES
from crawling.runs.grants import RUN_REF
from crawling.runs.shift_lifecycle import LONGEST_SLICES, shift_was_reaped
from crawling.scheduler.duties import AT_A_TIME_SECONDS, Progress, do_for_each_run

#: a start that no worker has taken up after this time is sent again, since Redis may have lost the
#: job
RESEND_AFTER = timedelta(seconds=30)
#: the seconds after the end of a shift's longest time at which RQ kills its job
GRACE_SECONDS = 5 * 60


def deliver_starts() -> Progress:
    """Make jobs for granted starts, as far as there is time. No lock is waited for."""
    return deliver_messages([OutboxKind.START], seconds=AT_A_TIME_SECONDS)


def deliver_other_messages() -> None:
    """Close lost shifts, and serve processes after a release.

    Both may wait for locks, so they have no time limit. Granted starts are delivered by another
    thread, which does not wait for them.
    """
    deliver_messages([kind for kind in OutboxKind if kind != OutboxKind.START])


def deliver_messages(
    kinds: Collection[OutboxKind] = tuple(OutboxKind), *, seconds: float = math.inf
) -> Progress:
    """Deliver undelivered messages of these kinds, each at least once.

    A message that fails is delivered again later. Neither later messages nor those of other runs
    wait for it or for its lock. Raises the first failure at the end.
    """
    failures: dict[str, Exception] = {}

    def deliver_or_note_failure(message: OutboxMessage) -> None:
        run = message.run_ref.rpartition("/")[0]
        if run in failures:
            return
        try:
            _deliver_message(message)
            mark_sent(ids=[message.id])
        except RedisError:
            raise  # no message can be delivered at the moment
        # whatever is wrong with one message, the others are delivered first; the error is raised
        # below
        except Exception as error:
            failures[run] = error

    progress = do_for_each_run(
        unsent_outbox(limit=100, kinds=kinds), deliver_or_note_failure, seconds=seconds
    )
    if failures:
        raise next(iter(failures.values()))
    return progress


def _deliver_message(message: OutboxMessage) -> None:
    if message.kind == OutboxKind.PUMP:
        grant_waiting_requests_of_pool(pool=message.pool)
        return
    if not message.run_ref.startswith(RUN_REF):
        # a thread of an experiment, a pre-resolver or a test fetch, which notices its grants itself
        return
    assert message.process is not None
    assert message.epoch is not None
    if message.kind == OutboxKind.START:
        enqueue_shift(
            message.process,
            message.epoch,
            is_experiment=message.is_experiment,
            renders=BROWSER_PAGES in message.claimed,
        )
    else:
        shift_was_reaped(message.process, message.epoch)


def enqueue_shift(
    process: int,
    epoch: int,
    *,
    is_experiment: bool = False,
    renders: bool = False,
    leave_started: bool = True,
) -> None:
    """Make an RQ job for a shift, to wake a worker, unless a job of the shift waits or has been
    started.

    is_experiment: wake a worker that the experiment has started; all other workers are for crawls.
    renders: wake a worker that has a browser.
    """
    name = EXPERIMENT_SHIFTS if is_experiment else RENDERING if renders else SHIFTS
    queue = django_rq.get_queue(name)
    job_id = f"shift-{process}-{epoch}"
    try:
        _enqueue_once(queue, job_id, process, epoch)
    except DuplicateJobError:
        job = queue.fetch_job(job_id)
        if job is None or not (
            is_awaiting_worker(queue, job)
            or (leave_started and job.get_status() == JobStatus.STARTED)
        ):
            # a job that has ended does not count, nor a job from before the database was restored
            if job is not None:
                remove_rq_job(job)
            _enqueue_once(queue, job_id, process, epoch)


def _enqueue_once(queue: Queue, job_id: str, process: int, epoch: int) -> None:
    timeout = int(LONGEST_SLICES * settings.CRAWL_SLICE_SECONDS) + GRACE_SECONDS
    queue.enqueue_call(
        RUN_SHIFT,
        args=(process, epoch),
        job_id=job_id,
        unique=True,
        timeout=timeout,
        failure_ttl=settings.RQ_FAILED_JOBS_SECONDS,
    )


def resend_lost_starts() -> None:
    """Send those starts again that no worker has taken up."""
    forgotten = Grant.objects.filter(
        released_at=None,
        epoch=F("process__epoch"),
        process__worker="",
        process__lease_until__isnull=False,
        granted_at__lt=timezone.now() - RESEND_AFTER,
        process__run_ref__startswith=RUN_REF,
    )
    for process, epoch, is_experiment, pages in forgotten.values_list(
        "process",
        "epoch",
        "process__pool__is_experiment",
        f"process__run_process__run__crawl__claim__{BROWSER_PAGES}",
    ).distinct():
        # a worker that had started the job would have taken it up by now
        enqueue_shift(
            process,
            epoch,
            is_experiment=is_experiment,
            renders=bool(pages),
            leave_started=False,
        )


def resend_lost_background_jobs() -> None:
    """Queue those background jobs again that no worker has taken up."""
    clear_cancelled_jobs()
    late = timezone.now() - RESEND_AFTER
    taken_up = Q(asked_at__lt=late) | Q(began_at__isnull=False)
    by_kind: defaultdict[str, list[int]] = defaultdict(list)
    for name, number in open_jobs().filter(taken_up).order_by("pk").values_list("kind", "pk"):
        by_kind[name].append(number)
    for name, kind in job_kinds().items():
        kind.job.enqueue_lost(by_kind[name])
