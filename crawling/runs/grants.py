"""The pool of a crawl, its team's share of the pool, and a run's requests to the pool. No
transaction here touches both the rows of the pool and those of the crawl. So each step is
idempotent: after a crash between two steps the scheduler repeats it (`crawling.scheduler`).
"""

from __future__ import annotations

import logging
from uuid import uuid4

from django.db import transaction
from django.db.models import Max, Q

from allocation.errors import (
    AllocationError,
    AlreadyStarted,
    AlreadyWaiting,
    BankBusy,
    NotKept,
    ProcessFinished,
    ResumeWouldBeUnsafe,
)
from allocation.models import Pool, Process, ProcessState, Request, RequestKind, RequestState, Share
from allocation.rules.shares import NO_LIMIT
from allocation.selectors import format_amounts
from allocation.services import (
    cancel_request,
    ensure_share,
    finish_process,
    keep_resources,
    register_process,
    release_resources,
    request_resources,
    resume_kept,
)
from allocation.wording import joined_in_words
from crawling.base.alert_events import AlertEvent
from crawling.frontier import seconds_until_due
from crawling.installation.events import alert
from crawling.installation.pools import pool_of
from crawling.installation.run_log import write
from crawling.models import Level, Run, RunProcess
from crawling.models.jobs import PAUSE_STATES, WORKING_STATES, RunState
from crawling.orders.claims import start_amounts

#: the prefix of the name of a team's share in a pool
TEAM_REF = "team/"
logger = logging.getLogger(__name__)

#: the prefix of the reference of a run's processes in the pool. Processes of experiments,
#: pre-resolvers and test fetches have other references, and no shifts
RUN_REF = "run/"
#: a shift is requested when a host falls due within this time
SOON_SECONDS = 1.0


#: the processes of a run that are not in the pool: not yet, or no longer because the run had ended
#: before it continued
UNREGISTERED = Q(bank_process=None) | Q(bank_process__state=ProcessState.FINISHED)


def share_limits(pool: Pool, team: str) -> dict[str, int]:
    """The limits of a team's claims on a pool, by class. Classes without a limit are left out."""
    share = Share.objects.filter(pool=pool, ref=f"{TEAM_REF}{team}").first() if team else None
    if share is None:
        return {}
    entries = zip(pool.classes.values_list("key", flat=True), share.limits, strict=False)
    return {key: limit for key, limit in entries if limit != NO_LIMIT}


def share_of(pool: Pool, team: str) -> int | None:
    """The share of a team's crawl in a pool. A team gets a share there with its first run."""
    return ensure_share(pool=pool.pk, ref=f"{TEAM_REF}{team}", name=team).pk if team else None


def register_processes(run: Run) -> None:
    """Register the run's processes in the pool, each once.

    A claim that the pool can no longer serve fails the run.

    A process that has finished in the pool is replaced by a new one, which continues the count of
    shifts.
    """
    pool = pool_of(run.crawl)
    for process in run.processes.filter(UNREGISTERED, is_retired=False):
        try:
            row = _register_process(pool, process)
        except BankBusy:
            return  # the scheduler registers it later
        except AllocationError as error:
            _fail_run(run, f"The resource limits were refused: {error}")
            return
        RunProcess.objects.filter(pk=process.pk).update(bank_process=row)


@transaction.atomic
def _fail_run(run: Run, reason: str) -> None:
    if Run.objects.filter(pk=run.pk, state__in=WORKING_STATES).update(
        state=RunState.FAILED, reason=reason
    ):
        alert(run, AlertEvent.FAILED, reason)


def _register_process(pool: Pool, process: RunProcess) -> Process:
    reference = f"{RUN_REF}{process.run_id}/{process.number}"
    latest = Process.objects.filter(run_ref=reference, pool=pool).order_by("-pk").first()
    if latest and latest.state == ProcessState.ACTIVE:
        return latest
    # The scheduler and the start of the run may register the process at the same time; the pool
    # creates only one.
    return register_process(
        pool=pool.pk,
        label=_process_label(process),
        run_ref=reference,
        maximum=process.run.crawl.claim,
        priority=process.run.crawl.priority,
        after_epoch=latest.epoch if latest else 0,
        share=share_of(pool, process.run.crawl.team),
    )


def _process_label(process: RunProcess) -> str:
    run = process.run
    name = run.crawl.name if run.number == 1 else f"{run.crawl.name} (run {run.number})"
    is_only = process.number == 0 and run.crawl.process_limit in (None, 1)
    return name if is_only else f"{name} #{process.number}"


def request_shifts(run: Run) -> None:
    """Request a shift for each process that has URLs due and no shift."""
    for process in run.processes.exclude(bank_process=None):
        request_shift(process)


def request_shift(process: RunProcess) -> None:
    """Ask the pool for the start of a shift, if the process has a URL due.

    A second request has no effect. No start is requested for an extra process after its first
    shift, or for a process beyond the order's number. For a crawl that uses idle capacity only, the
    scheduler requests starts (`crawling.runs.idle_capacity`).
    """
    crawl = process.run.crawl
    if not (process.is_extra or process.is_retired or crawl.idle_only or process.is_surplus(crawl)):
        request_start(process)


def request_start(process: RunProcess) -> None:
    """Request a start for any process of an active run."""
    run = Run.objects.select_related("crawl").get(pk=process.run_id)
    due_in = seconds_until_due(process)
    if (
        run.state not in WORKING_STATES
        or process.bank_process_id is None
        or due_in is None
        or due_in > SOON_SECONDS
    ):
        return
    if _begin_with_reserved_units(process.bank_process_id):
        return
    try:
        outcome = request_resources(
            process=process.bank_process_id,
            amounts=start_amounts(run.crawl.claim),
            request_id=uuid4(),
            kind=RequestKind.START,
        )
    except (AlreadyWaiting, AlreadyStarted, ProcessFinished, BankBusy):
        # another operating-system process has sent the request already, or the pool was locked;
        # then the scheduler repeats it
        return
    if run.crawl.idle_only and not outcome.granted:
        cancel_request(request_id=outcome.request_id)
    elif not outcome.granted:
        write(run.pk, f"Waiting for resources: {outcome.reason}")
    if not Run.objects.filter(pk=run.pk, state__in=WORKING_STATES).exists():
        cancel_waiting(run)  # the run was paused or stopped between the look and the request


def _begin_with_reserved_units(bank_process: int) -> bool:
    """Begin a shift with reserved units. Return whether there were any.

    A reservation that prevents its own process from starting is released.
    """
    if not Process.objects.filter(pk=bank_process, kept_until__isnull=False).exists():
        return False
    try:
        resume_kept(process=bank_process)
    except NotKept:
        return False
    except ResumeWouldBeUnsafe:
        epoch = Process.objects.values_list("epoch", flat=True).get(pk=bank_process)
        release_resources(
            process=bank_process,
            epoch=epoch,
            release_id=uuid4(),
            amounts=None,
            reason="could not continue with what it kept",
        )
        return False
    return True


def release_shift(process: RunProcess, bank_process: int, epoch: int) -> None:
    """End a shift in the pool. Everything is released, unless an operator paused the run with
    *keep* and that is safe.
    """
    run = Run.objects.get(pk=process.run_id)
    if run.state in PAUSE_STATES and run.keep_seconds is not None:
        try:
            kept = keep_resources(process=bank_process, epoch=epoch, keep_seconds=run.keep_seconds)
        except AllocationError as error:
            write(run.pk, f"Not reserved, but released: {error}", level=Level.WARNING)
        else:
            pool = Process.objects.values_list("pool", flat=True).get(pk=bank_process)
            write(
                run.pk,
                f"Reserved until {kept.until:%Y-%m-%d %H:%M} UTC: "
                f"{joined_in_words(format_amounts(pool, kept.amounts))}.",
            )
            # Another operating-system process may have settled the run already.
            Run.objects.filter(pk=run.pk, state=RunState.PAUSED).update(reason=paused_sentence(run))
            return
    release_resources(
        process=bank_process,
        epoch=epoch,
        release_id=uuid4(),
        amounts=None,
        reason="end of work session",
    )


#: the beginning of each reason of a pause by hand
PAUSED_BY_HAND = "Paused by an operator; "


def paused_sentence(run: Run) -> str:
    """The reason why the run is paused, or a sentence about its reserved units. If an operator
    paused the run, the sentence does not repeat that.
    """
    if run.trouble:
        return run.trouble
    if until := Process.objects.filter(run_process__run=run).aggregate(latest=Max("kept_until"))[
        "latest"
    ]:
        return f"{PAUSED_BY_HAND}what it held is reserved until {until:%Y-%m-%d %H:%M} UTC."
    if Process.objects.filter(run_process__run=run, holding=True).exists():
        return (
            f"{PAUSED_BY_HAND}what it holds is "
            f"{'being released' if run.keep_seconds is None else 'about to be reserved'}."
        )
    if run.keep_seconds is not None:
        return (
            f"{PAUSED_BY_HAND}nothing is reserved: it held nothing, its work session was lost, "
            "or keeping was not safe (see its log)."
        )
    return f"{PAUSED_BY_HAND}all its units are released."


def cancel_waiting(run: Run) -> None:
    waiting = Request.objects.filter(process__run_process__run=run, state=RequestState.WAITING)
    for request_id in waiting.values_list("pk", flat=True):
        cancel_request(request_id=request_id)


def leave_pool(run: Run) -> None:
    """End the run's processes in the pool. All units that they still hold are given back."""
    for process_id in run.processes.exclude(bank_process=None).values_list(
        "bank_process", flat=True
    ):
        finish_process(process=process_id)
