"""Leases of shifts: taking up a shift, renewing its lease, and ending a lost shift.

Times are those of the database. Taking up and renewing are single conditional updates without the
pool's lock. The reaper locks the pool, then each expired process, and checks the lease again: a
renewal before that is kept, and a renewal after it finds a new epoch.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models import Q

from allocation.fields import ClockTimestamp
from allocation.models import EventKind, OutboxKind, Process, Request, RequestState
from allocation.services.bank import Bank, locked_bank
from allocation.services.grants_on_release import grant_waiting_requests
from allocation.services.releases import cancel_waits, return_and_regrant
from allocation.services.transaction import bank_transaction
from allocation.values import ReapedShift

IS_EXPIRED = Q(lease_until__lt=ClockTimestamp())
IS_KEPT_TOO_LONG = Q(kept_until__lt=ClockTimestamp())
IS_LATE = Q(state=RequestState.WAITING, deadline__lt=ClockTimestamp())


def take_lease(*, process: int, epoch: int, worker: str) -> bool:
    """Take up a granted shift. Return True for the first worker that does so in time. No other
    worker may work on the shift.
    """
    untaken = Process.objects.filter(
        pk=process, epoch=epoch, worker="", lease_until__gte=ClockTimestamp()
    )
    return untaken.update(worker=worker, lease_until=_lease_end()) == 1


def renew_lease(*, process: int, epoch: int, worker: str | None = None) -> bool:
    """Extend the shift's lease. Return False if the shift is over, so that its work must stop now.

    worker: the worker that took up the shift, which is compared, too (`is_holder`).
    """
    alive = Process.objects.filter(pk=process, epoch=epoch, lease_until__isnull=False)
    if worker is not None:
        alive = alive.filter(worker=worker)
    return alive.update(lease_until=_lease_end()) == 1


def is_holder(*, process: int, epoch: int, worker: str) -> bool:
    """Whether this worker has the shift.

    The epoch alone is not enough: after a failover to a server without the last commits, another
    shift gets the same epoch.
    """
    return Process.objects.filter(pk=process, epoch=epoch, worker=worker).exists()


def reap_expired() -> list[ReapedShift]:
    """Take back the units of lost shifts and expired reservations, and end requests past their
    deadlines. Return the lost shifts.
    """
    pools = set(
        Process.objects.filter(IS_EXPIRED | IS_KEPT_TOO_LONG).values_list("pool_id", flat=True)
    )
    pools |= set(Request.objects.filter(IS_LATE).values_list("pool_id", flat=True))
    return [reaped for pool in sorted(pools) for reaped in _reap_pool(pool)]


@bank_transaction
def _reap_pool(pool: int) -> list[ReapedShift]:
    with locked_bank(pool) as bank:
        lost = (
            Process.objects.filter(IS_EXPIRED, pool=bank.pool)
            .order_by("pk")
            .select_for_update(no_key=True)
        )
        reaped = [_reap(bank, process) for process in lost]
        for process in Process.objects.filter(IS_KEPT_TOO_LONG, pool=bank.pool).order_by("pk"):
            _end_keep(bank, bank.processes.setdefault(process.pk, process))
        for request in (
            Request.objects.filter(IS_LATE, pool=bank.pool)
            .order_by("seq")
            .select_related("process")
        ):
            bank.processes.setdefault(request.process_id, request.process)
            bank.end_wait(request, RequestState.EXPIRED, "The deadline passed.")
        grant_waiting_requests(bank)
        return reaped


def _reap(bank: Bank, process: Process) -> ReapedShift:
    process = bank.processes.setdefault(process.pk, process)
    lost = ReapedShift(process.pk, process.run_ref, process.epoch, process.label)
    process.epoch += 1
    process.save(update_fields=["epoch"])
    cancel_waits(bank, process)
    bank.post_message(OutboxKind.REAPED, process, lost.epoch)
    reason = f"The lease of epoch {lost.epoch} ran out."
    return_and_regrant(
        bank, process, tuple(process.allocated), EventKind.REAPED, reason, ends_shift=True
    )
    return lost


def _end_keep(bank: Bank, process: Process) -> None:
    reason = f"The reservation until {process.kept_until:%Y-%m-%d %H:%M} UTC ran out."
    return_and_regrant(bank, process, tuple(process.allocated), EventKind.KEEP_ENDED, reason)


def _lease_end() -> object:
    return ClockTimestamp() + timedelta(seconds=settings.BANK_LEASE_SECONDS)
