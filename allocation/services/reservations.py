"""Reservations: when an operator pauses a crawl, the units of its shift can be kept for a time, as
long as the state stays safe.
"""

from __future__ import annotations

from datetime import timedelta

from allocation.errors import (
    AllocationError,
    BadKeepTime,
    KeepWouldBeUnsafe,
    NothingToKeep,
    NotKept,
    ResumeWouldBeUnsafe,
)
from allocation.fields import ClockTimestamp
from allocation.models import EventKind, Policy, Process
from allocation.rules import banker
from allocation.services.bank import Bank, locked_bank_of
from allocation.services.grants_on_release import grant_waiting_requests
from allocation.services.releases import cancel_waits
from allocation.services.requests import check_epoch
from allocation.services.transaction import bank_transaction
from allocation.values import Reservation

#: the longest reservation: a day
LONGEST_SECONDS = 24 * 60 * 60


@bank_transaction
def keep_resources(*, process: int, epoch: int, keep_seconds: float) -> Reservation:
    """End the shift of this epoch, but keep its units reserved until the time is over.

    The process then counts as one that does not finish, so the safety of others must not depend on
    its units. A new epoch begins, so that later messages of the old shift cannot change them.
    `resume_kept`, `finish_process`, a release, or the reaper ends the reservation. Raises
    KeepWouldBeUnsafe, StaleEpoch, NothingToKeep, BadKeepTime; then nothing has changed.
    """
    check_keep_seconds(keep_seconds)
    with locked_bank_of(process) as (bank, holder):
        check_epoch(holder, epoch)
        if not holder.holding:
            raise NothingToKeep(process=holder.label)
        holder.epoch += 1
        cancel_waits(bank, holder)
        kept_until = ClockTimestamp() + timedelta(seconds=keep_seconds)
        Process.objects.filter(pk=process).update(
            epoch=holder.epoch,
            lease_until=None,
            worker="",
            kept_until=kept_until,
        )
        holder.refresh_from_db(fields=["lease_until", "worker", "kept_until"])
        assert holder.kept_until is not None
        _refuse_if_unsafe(bank, KeepWouldBeUnsafe)
        held = tuple(holder.allocated)
        bank.log_event(
            EventKind.KEPT,
            holder,
            amounts=held,
            reason=f"Reserved until {holder.kept_until:%Y-%m-%d %H:%M} UTC by a pause.",
        )
        grant_waiting_requests(bank)
        return Reservation(process, holder.epoch, holder.kept_until, bank.amounts_by_key(held))


@bank_transaction
def resume_kept(*, process: int) -> int:
    """Begin a shift with the reserved units. Return its epoch. The outbox gets a message as for a
    granted start.

    Since the process can finish again, processes that waited for safety may be served. Raises
    NotKept if the reservation has ended, and ResumeWouldBeUnsafe if the process could not be sure
    to get its whole claim while other reservations last.
    """
    with locked_bank_of(process) as (bank, resuming):
        if resuming.kept_until is None:
            raise NotKept(process=resuming.label)
        bank.begin_shift(resuming)
        _refuse_if_unsafe(bank, ResumeWouldBeUnsafe)
        # the grants pass to the new shift; otherwise the scheduler could not find the start to send
        # it again
        resuming.grants.filter(released_at=None).update(epoch=resuming.epoch)
        bank.log_event(
            EventKind.RESUMED,
            resuming,
            amounts=tuple(resuming.allocated),
            reason="Continues with what it kept.",
        )
        grant_waiting_requests(bank)
        return resuming.epoch


def check_keep_seconds(keep_seconds: float) -> None:
    """Raise BadKeepTime if this is no valid time for a reservation."""
    if not 0 < keep_seconds <= LONGEST_SECONDS:
        raise BadKeepTime(keep_seconds=keep_seconds)


def _refuse_if_unsafe(bank: Bank, refusal: type[AllocationError]) -> None:
    """Make the full check over the processes that can still finish. A pool with
    the naive policy is not checked.
    """
    state, rows = bank.state()
    finish = banker.finishable_processes(state)
    stuck = [process.label for i, process in enumerate(rows) if i not in finish]
    if stuck and bank.pool.policy != Policy.NAIVE:
        raise refusal(stuck=", ".join(stuck))
