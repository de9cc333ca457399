"""The beginning and the end of a shift, including a shift that could not close itself, and the
state of a run when no shift is left.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone
from redis.exceptions import ConnectionError as RedisGone

from allocation.isolation import is_conflict, is_connection_lost
from allocation.services import is_holder, release_resources
from crawling.archive.files import seal_all
from crawling.base.alert_events import AlertEvent
from crawling.datasets.jobs import write_links_of_ended
from crawling.frontier import free_hosts_of_shift, limit_reached, locked_run, return_urls, rules_key
from crawling.frontier.record.poison import mark_poison_suspects
from crawling.frontier.rules.poison_suspects import PoisonSuspects
from crawling.installation.events import alert
from crawling.installation.run_log import write
from crawling.machine.shift_locks import abandoned_shifts
from crawling.models import Level, Run, RunProcess, Shift
from crawling.models.jobs import ENDED_STATES, WORKING_STATES, RunState
from crawling.runs.endings import ending_sentence, failure_sentence
from crawling.runs.grants import leave_pool, paused_sentence, release_shift, request_shift
from crawling.runs.takeover import LEASE_ENDED, return_hosts_to_process
from crawling.runs.transitions import FETCHING, WOUND_DOWN

STOPPED = "Stopped by an operator; its pages and its queue are kept."
ABORTED = (
    "Aborted by an operator; its pages and its queue are kept, and what was being fetched counts "
    "for nothing."
)
#: a shift ends after this many time slices even if no process waits
LONGEST_SLICES = 10
logger = logging.getLogger(__name__)


#: the `worker` of a granted shift that no worker has taken up
UNTAKEN = ""


class FetchThreadLine(NamedTuple):
    """The current step of a fetch thread, and the beginning of the step in seconds of the epoch."""

    number: int
    step: str
    url: str
    since: float


def begin_shift(process: RunProcess, *, epoch: int, worker: str) -> Shift | None:
    """Open the shift of an epoch. The caller has taken its lease.

    Return None if the run needs no shift, or if this epoch already had one.

    URLs that an earlier shift of the process left in process are put back into their queues first.
    """
    with locked_run(process.run_id) as run:
        if run.state not in WORKING_STATES:
            return None
        for lost in Shift.objects.filter(process=process, ended_at=None, epoch__lt=epoch):
            _close_lost_shift(lost, "lost: a later work session has taken its place")
        try:
            with transaction.atomic():
                shift = Shift.objects.create(process=process, epoch=epoch, worker=worker)
        except IntegrityError:
            return None
        return_hosts_to_process(run, process)
        write(run.pk, f"Work session began on {worker}{_process_words(process)}.")
        Run.objects.filter(pk=run.pk).update(
            state=RunState.RUNNING, reason=FETCHING, started_at=run.started_at or Now()
        )
    return shift


def end_shift(shift: Shift, ending: str) -> None:
    """Close the shift: put untried URLs back into their queues, and update the run's state.

    Safe to repeat.

    The shift has already released its hosts, each with its own waiting time. The caller releases
    the pool's units.
    """
    with locked_run(shift.process.run_id):
        _close_shift(shift, ending)


def note_work(shift: Shift, threads: Sequence[FetchThreadLine], used: Mapping[str, int]) -> None:
    """Store the step of each fetch thread, and the use of each resource class, while the shift
    lives.
    """
    Shift.objects.filter(pk=shift.pk, ended_at=None).update(
        fetch_threads=[list(line) for line in threads], used=dict(used)
    )


def lose_shift(
    process: RunProcess,
    epoch: int,
    ending: str,
    *,
    is_dead: bool,
    worker: str | None = None,
    blame: PoisonSuspects | None = None,
) -> None:
    """Close a shift that cannot close itself.

    is_dead: whether its operating-system process is known to have ended; then its hosts are free
    after one delay, otherwise one delay after their leases have expired. worker: close the shift
    only if this worker had it. blame: the URLs against which the loss counts; None for all in
    process.
    """
    shifts = Shift.objects.filter(process=process, epoch=epoch, ended_at=None)
    if worker is not None:
        shifts = shifts.filter(worker=worker)
    with locked_run(process.run_id):
        for shift in shifts:
            _close_lost_shift(shift, ending, blame)
            if is_dead:
                free_hosts_of_shift(shift.pk)


def _close_shift(shift: Shift, ending: str, *, level: Level = Level.INFO) -> None:
    return_urls(shift)
    if Shift.objects.filter(pk=shift.pk, ended_at=None).update(
        ended_at=Now(),
        ending=ending[:200],
        fetch_threads=[],
        used={},
        deciding_seconds=shift.deciding_seconds,
    ):
        write(
            shift.process.run_id,
            f"Work session ended on {shift.worker}{_process_words(shift.process)}: {ending}.",
            level=level,
        )


def _close_lost_shift(shift: Shift, ending: str, blame: PoisonSuspects | None = None) -> None:
    mark_poison_suspects(shift, blame or PoisonSuspects())
    _close_shift(shift, ending, level=Level.ERROR)


def _process_words(process: RunProcess) -> str:
    is_only = process.number == 0 and process.run.crawl.process_limit in (None, 1)
    return "" if is_only else f", process {process.number}"


def settle_run(run_id: int) -> Run:
    """If no shift of the run is alive, change its state to paused, stopped or finished if it must.
    An ended run leaves the pool.

    An empty queue alone is not the end (SEEDS B13): a page in process may still bring links, and
    then a shift is alive.
    """
    with locked_run(run_id) as run:
        if not Shift.objects.filter(process__run=run, ended_at=None).exists():
            _settle_state(run)
    if run.state in ENDED_STATES:
        leave_pool(run)
        seal_all(run.pk)
        write_links_of_ended(run)
    return run


def _settle_state(run: Run) -> None:
    new = _next_state(run)
    if new is None:
        return
    run.state, run.reason = new
    # the log has the trouble already; its sentence begins with the action that follows
    write(
        run.pk,
        f"{run.state.capitalize()}."
        if run.reason == run.trouble
        else f"{run.state.capitalize()}. {run.reason}",
    )
    if run.state in ENDED_STATES:
        run.finished_at = timezone.now()
        alert(run, AlertEvent(run.state), run.reason)
    run.save(update_fields=["state", "reason", "finished_at"])


def _next_state(run: Run) -> tuple[RunState, str] | None:
    """The next state of a run without shifts, and the reason; None if its state stays the same."""
    if wound_down := WOUND_DOWN.get(RunState(run.state)):
        return wound_down, _wind_down_reason(run)
    if run.state not in WORKING_STATES:
        return None
    if not run.queues.filter(queued__gt=0).exists():
        # An edit may admit URLs that were excluded; the scheduler applies it first.
        return _end_of_run(run, "") if run.judged_by in ("", rules_key(run.crawl)) else None
    sentence = limit_reached(run)
    return _end_of_run(run, sentence) if sentence else None


def _wind_down_reason(run: Run) -> str:
    if run.state == RunState.PAUSING:
        return paused_sentence(run)
    return run.trouble or (ABORTED if run.aborted_at else STOPPED)


def _end_of_run(run: Run, limit: str) -> tuple[RunState, str]:
    """The end of a run, and the reason. A run without a successful fetch has failed.

    limit: the sentence of the limit that ended the run, or empty.
    """
    if vain := failure_sentence(run):
        return RunState.FAILED, f"{limit} {vain}".lstrip()
    return RunState.FINISHED, limit or ending_sentence(run)


def settle_ended_shift(process: RunProcess, *, epoch: int, worker: str) -> None:
    """Settle the run after a shift was closed, release the shift's units, and request the next
    shift.

    The processes of an ended run leave the pool with all their units, in one step.
    """
    run = settle_run(process.run_id)
    if run.state in ENDED_STATES:
        return
    bank_process = process.bank_process_id
    assert bank_process is not None
    if is_holder(process=bank_process, epoch=epoch, worker=worker):
        release_shift(process, bank_process, epoch)
    _request_next_shift(Run.objects.get(pk=run.pk), process)


def continue_shift(process: RunProcess) -> None:
    """Settle the run after a shift has left the pool, update the reason of a paused run, and
    request the next shift if a URL is due.
    """
    _request_next_shift(settle_run(process.run_id), process)


def _request_next_shift(run: Run, process: RunProcess) -> None:
    if run.state == RunState.PAUSED:
        # The run may have been settled before its units were given back.
        Run.objects.filter(pk=run.pk, state=RunState.PAUSED).update(reason=paused_sentence(run))
    if run.state in WORKING_STATES:
        request_shift(process)


def is_server_loss(error: BaseException | None) -> bool:
    """Whether the shift ended with this error because PostgreSQL or Redis did not answer, or
    because other transactions held locks. No page can cause these.
    """
    return isinstance(error, RedisGone) or is_connection_lost(error) or is_conflict(error)


def shift_was_lost(
    process_id: int, epoch: int, ending: str, *, worker: str, blame: PoisonSuspects | None = None
) -> None:
    """Close a shift whose operating-system process has ended, release its units, and continue the
    run.

    worker: the worker that had the shift, or was about to take it up. A shift of another worker
    with the same epoch is left alone; it can exist after a failover of PostgreSQL that lost
    commits. blame: the URLs that may be the cause; None for all in process.
    """
    process = _process_of(process_id)
    if process is None:
        return
    logger.warning(
        "work session lost", extra={"run": str(process.run), "epoch": epoch, "ending": ending}
    )
    lose_shift(process, epoch, ending, worker=worker, is_dead=True, blame=blame)
    if any(is_holder(process=process_id, epoch=epoch, worker=name) for name in (worker, UNTAKEN)):
        release_resources(
            process=process_id, epoch=epoch, release_id=uuid4(), amounts=None, reason=ending
        )
    continue_shift(process)


def close_shifts_lost_here(but: str = "") -> None:
    """Close the shifts of this machine whose process was killed together with its worker.

    but: a live worker, which closes its own shift because it knows the cause.
    """
    for lost in abandoned_shifts(but):
        if is_holder(process=lost.process_id, epoch=lost.epoch, worker=lost.worker):
            ending = "lost: its operating-system process and its worker were killed"
            shift_was_lost(lost.process_id, lost.epoch, ending, worker=lost.worker)


def _process_of(bank_process: int) -> RunProcess | None:
    """The process of a run. None if the process in the pool belongs to no run, or the run is being
    removed.
    """
    processes = RunProcess.objects.select_related("run__crawl")
    return processes.filter(bank_process=bank_process, run__removal_asked_at=None).first()


def shift_was_reaped(process_id: int, epoch: int) -> None:
    """Close a shift whose units the pool took back because its lease expired. Its hosts rest until
    their own leases end.
    """
    process = _process_of(process_id)
    if process is None:
        return
    lose_shift(process, epoch, LEASE_ENDED, is_dead=False)
    continue_shift(process)
