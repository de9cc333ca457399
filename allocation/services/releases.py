"""Releases: units are released, a shift ends, a process finishes. A call that comes too late
changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from allocation.errors import ReleaseExceedsAllocation, ReleaseIdReused
from allocation.models import EventKind, Process, ProcessState, Release, RequestKind, RequestState
from allocation.rules import banker
from allocation.rules.banker import Vector
from allocation.services.bank import Bank, locked_bank_of
from allocation.services.grants_on_release import grant_waiting_requests
from allocation.services.quick_path import quick_release
from allocation.services.transaction import bank_transaction
from allocation.values import Released, ReleaseStatus


def release_resources(
    *,
    process: int,
    epoch: int,
    release_id: UUID,
    amounts: Mapping[str, int] | None,
    reason: str = "",
) -> Released:
    """Give units back, and grant them directly to waiting processes. `amounts=None` gives back all
    and ends the shift.

    Ending the shift also cancels a waiting growth or stage. A reservation is ended in the same way.
    Repeating a `release_id` changes nothing, nor does a release by a shift that is over (STALE).
    Partial amounts are taken from the newest grants first. Raises ReleaseExceedsAllocation if the
    process does not hold so many.
    """
    quick = quick_release(
        process=process, epoch=epoch, release_id=release_id, amounts=amounts, reason=reason
    )
    return quick or _release_once(process, epoch, release_id, amounts, reason)


@bank_transaction
def _release_once(
    process: int, epoch: int, release_id: UUID, amounts: Mapping[str, int] | None, reason: str
) -> Released:
    with locked_bank_of(process) as (bank, holder):
        given = tuple(holder.allocated) if amounts is None else bank.vector(amounts)
        if earlier := Release.objects.filter(pk=release_id).first():
            return _repeated_release(bank, holder, earlier)
        if is_epoch_over(holder, epoch):
            bank.log_event(EventKind.STALE, holder, reason=f"Epoch {epoch}: {reason}")
            return Released(release_id, ReleaseStatus.STALE, {})
        if not banker.fits(given, tuple(holder.allocated)):
            raise ReleaseExceedsAllocation(
                process=holder.label,
                given=bank.amounts_by_key(given),
                held=bank.amounts_by_key(tuple(holder.allocated)),
            )

        if amounts is None:
            cancel_waits(bank, holder)
        return_and_regrant(
            bank,
            holder,
            given,
            EventKind.RELEASED,
            reason,
            release_id=release_id,
            ends_shift=amounts is None,
        )
        return Released(release_id, ReleaseStatus.RELEASED, bank.amounts_by_key(given))


@bank_transaction
def finish_process(*, process: int, epoch: int | None = None) -> bool:
    """Release all units, cancel waiting requests, and accept no more requests of the process.

    A second call changes nothing.

    With an `epoch`, the process is finished only if that is its latest shift; otherwise nothing
    changes, and False is returned.
    """
    with locked_bank_of(process) as (bank, finishing):
        if finishing.state == ProcessState.FINISHED:
            return True
        if epoch is not None and epoch != finishing.epoch:
            bank.log_event(EventKind.STALE, finishing, reason=f"Epoch {epoch}: finish")
            return False
        cancel_waits(bank, finishing, also=[RequestKind.START])
        finishing.state = ProcessState.FINISHED
        finishing.save(update_fields=["state"])
        reason, given = "The process finished.", tuple(finishing.allocated)
        return_and_regrant(bank, finishing, given, EventKind.FINISHED, reason, ends_shift=True)
        return True


def return_and_regrant(
    bank: Bank,
    process: Process,
    amounts: Vector,
    kind: EventKind,
    reason: str,
    *,
    release_id: UUID | None = None,
    ends_shift: bool = False,
) -> None:
    """Return units, and serve waiting processes."""
    bank.return_units(process, amounts, kind, reason, release_id=release_id, ends_shift=ends_shift)
    grant_waiting_requests(bank)


def cancel_waits(bank: Bank, process: Process, *, also: Sequence[RequestKind] = ()) -> None:
    """Cancel the requests that an ending shift has waiting."""
    kinds = [RequestKind.GROWTH, RequestKind.STAGE, *also]
    for request in process.requests.filter(state=RequestState.WAITING, kind__in=kinds):
        bank.end_wait(request, RequestState.CANCELLED, "The work session ended.")


def is_epoch_over(process: Process, epoch: int) -> bool:
    """Whether the shift or the reservation of this epoch has ended, or a later one has replaced
    it.
    """
    return epoch != process.epoch or (process.lease_until is None and process.kept_until is None)


def _repeated_release(bank: Bank, holder: Process, earlier: Release) -> Released:
    if earlier.process_id != holder.pk:
        raise ReleaseIdReused(release=earlier.pk)
    bank.log_event(EventKind.REPEATED, holder, reason=f"Release {earlier.pk} was sent again.")
    return Released(earlier.pk, ReleaseStatus.REPEATED, bank.amounts_by_key(tuple(earlier.amounts)))
