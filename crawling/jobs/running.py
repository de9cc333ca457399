"""Does the work of background jobs. One process at a time works on a row. It may be killed at any
moment; the next process continues at the bookmark.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

from django.db import DatabaseError, connections, transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Greatest, Now
from redis.exceptions import RedisError

from allocation.errors import AllocationError
from crawling.archive.files import this_machine
from crawling.base.errors import CrawlError, WrongState
from crawling.jobs.job_rows import end_job, job_file_prefix, lockable_row, open_jobs
from crawling.jobs.kinds import JobKind, kind_of
from crawling.jobs.removal import LEAVING, clear_job_files, delete_older_jobs, remove_deleted_jobs
from crawling.jobs.rq_jobs import IDLE, note_turn_of_others
from crawling.jobs.running_job import JobGone, JobWaits, RunningJob
from crawling.jobs.temporary_grant import NoUnits
from crawling.jobs.turns import IdleTurn, idle_turn
from crawling.machine.child_process import ChildProcess, GoesOn, child_process
from crawling.models import BackgroundJob

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 10.0
NOT_WANTED = "another worker has it, or it is over"
NO_UNITS = "it waits for {:,} MiB of memory that no crawl needs"
OTHERS_WAIT = "it waits until others have what they need, and continues then"
WORKER_ENDED = "its worker was stopped; it continues as soon as one is there"
FAULT = "The background job failed; the log of the worker says how."
GONE = "it is no longer wanted"
#: the result of a job that ended for the sake of others and continues later
BROKEN_OFF = "others wait"
INTERRUPTED = "The command that did it was interrupted."
#: the reference in the pool of the units that a job holds
HELD_AS = "job-{}"


def run_job(job_id: int) -> str:
    """Do the work of a job. RQ calls this function. Return the job's result as a word. A second
    call for a finished job has no effect.
    """
    connections.close_all()  # a connection from before the fork belongs to the parent
    job = open_jobs().filter(pk=job_id).first()
    if job is None:
        return NOT_WANTED
    kind = kind_of(job)
    with ExitStack() as stack:
        # a fork must come before connections and threads
        forked = child_process(partial(_work_in_child, job_id)) if kind.in_child else nullcontext()
        child = stack.enter_context(forked)
        if not stack.enter_context(kind.job.alone(job_id)):
            return NOT_WANTED
        try:
            turn = stack.enter_context(_hold_units(kind, job))
        except (NoUnits, AllocationError) as error:
            lockable_row(job).update(waits=NO_UNITS.format(kind.memory(job) if kind.memory else 0))
            return str(error)
        if trouble := _begin_job(kind, job_id):
            return trouble
        stack.enter_context(_heartbeat(kind, job_id))
        became = _work_and_wait(kind, job_id, child, turn)
        if kind.queue == IDLE and became != BROKEN_OFF:
            with suppress(RedisError):
                if not kind.job.is_first(job_id):
                    note_turn_of_others()
        return became


def run_in_this_process(job: BackgroundJob) -> BackgroundJob:
    """Do a job's work in this process and without a grant, for a command. Return the row
    afterwards.

    Raises WrongState if a background worker works on it, or if it is cancelled or deleted
    meanwhile, and CrawlError with the reason why there is no result.
    """
    kind = kind_of(job)
    with kind.job.alone(job.pk) as is_alone:
        if not is_alone:
            raise WrongState("A background job is at it already.")
        if trouble := _begin_job(kind, job.pk):
            raise WrongState(trouble)
        try:
            with _heartbeat(kind, job.pk):
                said = _work_in_child(job.pk, lambda: True)
        except KeyboardInterrupt:
            # read again, since the row may have another name on this machine, or the job may be
            # done already
            row = open_jobs().filter(pk=job.pk).first()
            if row and row.by is None:  # a job that a user requested continues in the background
                _fail_job(kind, row, INTERRUPTED)
            raise
    job.refresh_from_db()
    if job.trouble or not job.ended_at:
        raise WrongState(job.trouble or said)
    return job


@contextmanager
def _hold_units(kind: JobKind, job: BackgroundJob) -> Iterator[IdleTurn | None]:
    """Hold the units that the kind needs. Raises NoUnits or AllocationError."""
    if kind.memory is None:
        yield None
        return
    reference, mebibytes = HELD_AS.format(job.pk), kind.memory(job)
    label, is_first = f"{kind.label}, job {job.pk}", partial(kind.job.is_first, job.pk)
    with idle_turn(reference, label=label, mebibytes=mebibytes, is_first=is_first) as turn:
        yield turn


def _begin_job(kind: JobKind, job_id: int) -> str:
    """Note that a process works on the job. Return the reason why it is not begun, or "".

    If another machine has begun it, this machine begins anew, since it does not have the files.
    """
    with transaction.atomic():
        job = open_jobs().select_for_update(of=("self",)).filter(pk=job_id).first()
        if job is None:
            return NOT_WANTED
        if job.attempts >= kind.attempts:
            _fail_job(kind, job, kind.broken_off)
            return kind.broken_off
        begins: dict[str, Any] = {"began_at": Coalesce(F("began_at"), Now())}
        if kind.has_files and job.machine != this_machine():
            name = job_file_prefix(kind.name, job.run_id or 0)
            begins = {"name": name, "machine": this_machine(), "began_at": Now()}
            begins |= {"bookmark": None, "progress": {}}
        lockable_row(job).update(attempts=F("attempts") + 1, heartbeat_at=Now(), waits="", **begins)
    return ""


def _work_and_wait(
    kind: JobKind, job_id: int, child: ChildProcess | None, turn: IdleTurn | None
) -> str:
    if child is None:
        return _work_in_child(job_id, turn.goes_on if turn else lambda: True)
    assert turn is not None  # a kind whose work can be interrupted for others holds units
    try:
        became = child.result(turn.goes_on, turn.seconds_left)
    except KeyboardInterrupt:  # the worker ends, or a user has cancelled the job
        for job in open_jobs().filter(pk=job_id):
            _note_pause(job, WORKER_ENDED)
        raise
    return became if became is not None else _note_interruption(kind, job_id)


def _work_in_child(job_id: int, goes_on: GoesOn) -> str:
    """Do the work of a row that was begun. Return its result as a word."""
    job = open_jobs().select_related("run__crawl", "by").filter(pk=job_id).first()
    if job is None:
        return NOT_WANTED
    kind = kind_of(job)
    running = RunningJob(job, goes_on)
    try:
        result = kind.work(running)
    # any error of a kind is noted in the row, where users read it and may request the job again
    except Exception as error:
        return _error_result(kind, job, error)
    except KeyboardInterrupt:  # the worker ends, or a user has cancelled the job
        _note_pause(job, WORKER_ENDED)
        raise
    if result is None:
        _note_pause(job, OTHERS_WAIT)
        return BROKEN_OFF
    with transaction.atomic():
        is_wanted = running.is_finished or end_job(job, result)
        if is_wanted and kind.keeps_latest_only:
            delete_older_jobs(kind, job)
    if not is_wanted:
        return _end_without_work(kind, job)
    if kind.keeps_latest_only:
        remove_deleted_jobs()
    return kind.done


def _error_result(kind: JobKind, job: BackgroundJob, error: Exception) -> str:
    """The result of a job whose work raised this error. A bug is raised again: RQ keeps its
    traceback, and the next attempt may succeed.
    """
    match error:
        case JobGone():
            return _end_without_work(kind, job)
        case JobWaits():
            _note_pause(job, str(error))
        case CrawlError():
            logger.warning("a job has no result", extra={"job": str(job), "why": str(error)})
            _fail_job(kind, job, str(error))
        case _:
            if job.attempts >= kind.attempts:
                _fail_job(kind, job, FAULT)
            raise error
    return str(error)


def _note_pause(job: BackgroundJob, why: str) -> None:
    """Note the reason why no process works on the job. This does not count as an attempt."""
    lockable_row(job).update(attempts=Greatest(F("attempts") - 1, 0), waits=why)


def _note_interruption(kind: JobKind, job_id: int) -> str:
    """Note that the child was killed for the sake of others. This does not count as an attempt."""
    job = open_jobs().filter(pk=job_id).first()
    if job is None:
        return NOT_WANTED
    row = lockable_row(job)
    row.update(attempts=Greatest(F("attempts") - 1, 0), breaks=F("breaks") + 1)
    if job.breaks + 1 >= kind.breaks:
        _fail_job(kind, job, kind.no_time)
        return kind.no_time
    count = f"; its next step was broken off {job.breaks + 1} of at most {kind.breaks} times"
    row.update(waits=OTHERS_WAIT + count)
    return BROKEN_OFF


def _fail_job(kind: JobKind, job: BackgroundJob, trouble: str) -> None:
    """Give up the job unless it has ended. A result that was stored meanwhile is kept."""
    if end_job(job, trouble=trouble):
        _try_to_clear(kind, job)


def _end_without_work(kind: JobKind, job: BackgroundJob) -> str:
    """The result of a job that is not done, because it has lost its subject, is cancelled or
    forgotten, or was done by another machine.
    """
    end_job(job, trouble=GONE)
    _try_to_clear(kind, job)
    return GONE


def _try_to_clear(kind: JobKind, job: BackgroundJob) -> None:
    try:
        clear_job_files(kind, job)
    except LEAVING as error:  # the scheduler removes it later
        facts = {"job": str(job), "error": str(error)}
        logger.warning("what a job has left is not removed yet", extra=facts)


@contextmanager
def _heartbeat(kind: JobKind, job_id: int) -> Iterator[None]:
    """Note every few seconds that a process works on the job, while the block lasts. Work that
    checks its own row notes this itself. No thread is started for such work, since it may fork.
    """
    if kind.ends_itself:
        yield
        return
    over = threading.Event()

    def store_heartbeats() -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            try:
                BackgroundJob.objects.filter(pk=job_id, ended_at=None).update(heartbeat_at=Now())
            except DatabaseError:  # PostgreSQL may be back at the next turn
                connections.close_all()
        connections.close_all()

    thread = threading.Thread(target=store_heartbeats, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
