"""Hand units that came back straight to those who wait, under the same lock: no wake-up can be lost."""

from __future__ import annotations

from django.db.models import Q

from allocation.banker import Verdict
from allocation.fields import ClockTimestamp
from allocation.models import OutboxKind, Request, RequestState
from allocation.services.bank import Bank, locked_bank
from allocation.services.transaction import bank_transaction

GRANTS_PER_TRANSACTION = 256


def pump(bank: Bank) -> int:
    """Grant what can be granted, the oldest first, and return how many were; what is left over is asked for by a message.

    One pass is enough: a grant only lowers Available, and whatever would be safe after it was safe before it.
    """
    granted = 0
    in_time = Q(deadline=None) | Q(deadline__gt=ClockTimestamp())
    waiting = Request.objects.filter(in_time, pool=bank.pool, state=RequestState.WAITING).order_by("seq").select_related("process")
    for request in waiting:
        process = bank.processes.setdefault(request.process_id, request.process)
        decision = bank.verdict_on(process, tuple(request.amounts))
        if decision.verdict is not Verdict.GRANT:
            continue
        if granted == GRANTS_PER_TRANSACTION:
            bank.post(OutboxKind.PUMP)
            break
        bank.grant(request, decision)
        granted += 1
    return granted


@bank_transaction
def pump_pool(*, pool: int) -> int:
    """Serve the waiters of a pool as a release would, and return how many were granted."""
    with locked_bank(pool) as bank:
        return pump(bank)
