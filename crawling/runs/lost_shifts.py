"""A shift that ended without closing itself."""

from __future__ import annotations

import logging
from uuid import uuid4

from django.db import InterfaceError, OperationalError
from redis.exceptions import ConnectionError as RedisGone

from allocation.isolation import IN_THE_WAY, sqlstate
from allocation.services import is_holder, release_resources
from crawling.frontier.rules.poison_suspects import PoisonSuspects
from crawling.models import RunProcess
from crawling.process.presence import absent
from crawling.runs.shift_lifecycle import continue_shift, lose_shift

logger = logging.getLogger(__name__)


#: SQLSTATEs by which a server says that it goes or is not there: `08` connection exceptions, `57P`
#: an operator's or a crash's doing
GOING = ("08", "57P")
#: the worker of a granted shift that no worker has taken up
UNTAKEN = ""


def lost_a_server(error: BaseException | None) -> bool:
    """Whether a shift ended by this because PostgreSQL or Redis went away or others kept rows
    locked, which no page can bring about.
    """
    if isinstance(error, RedisGone | InterfaceError):
        return True
    if not isinstance(error, OperationalError):
        return False
    state = sqlstate(error)  # a connection that broke has no server left to give one
    return state is None or state in IN_THE_WAY or state.startswith(GOING)


def shift_was_lost(
    process_id: int, epoch: int, ending: str, *, worker: str, blame: PoisonSuspects | None = None
) -> None:
    """The shift's operating-system process has ended: close the shift, release its units, and go
    on.

    worker: who had the shift, or was about to take it up; another one's shift of the same epoch,
    as there is after a failover that lost commits, is left alone.
    blame: which of its URLs may have done it; None: any that it had in process.
    """
    process = _process_of(process_id)
    if process is None:
        return
    logger.warning("shift lost", extra={"run": str(process.run), "epoch": epoch, "ending": ending})
    lose_shift(process, epoch, ending, worker=worker, is_dead=True, blame=blame)
    if any(is_holder(process=process_id, epoch=epoch, worker=name) for name in (worker, UNTAKEN)):
        release_resources(
            process=process_id, epoch=epoch, release_id=uuid4(), amounts=None, reason=ending
        )
    continue_shift(process)


def close_shifts_lost_here(but: str = "") -> None:
    """Close the shifts of this machine whose process was killed together with the worker above it.

    but: a worker that lives, and that closes its own shift, since it has the cause.
    """
    for lost in absent(but):
        if is_holder(process=lost.process_id, epoch=lost.epoch, worker=lost.worker):
            ending = "lost: its operating-system process and its worker were killed"
            shift_was_lost(lost.process_id, lost.epoch, ending, worker=lost.worker)


def _process_of(bank_process: int) -> RunProcess | None:
    """None: it is none of a run, or the run is being removed."""
    processes = RunProcess.objects.select_related("run__crawl")
    return processes.filter(bank_process=bank_process, run__removal_asked_at=None).first()


def shift_was_reaped(process_id: int, epoch: int) -> None:
    """The pool took a shift's units back because its lease ran out: close the shift; its hosts rest
    until their own leases end.
    """
    process = _process_of(process_id)
    if process is None:
        return
    lose_shift(process, epoch, "lost: its lease ran out", is_dead=False)
    continue_shift(process)
