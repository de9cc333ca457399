"""Hand units that came back straight to those who wait, under the same lock: no wake-up can be
lost.
"""

from __future__ import annotations

from allocation.models import OutboxKind
from allocation.rules.banker import BankVerdict
from allocation.services.bank import Bank, locked_bank
from allocation.services.transaction import bank_transaction
from allocation.services.turns import asker_of, first_before, reach_of, settle_turn
from allocation.services.wait_queues import grantable_requests

GRANTS_PER_TRANSACTION = 256


def pump(bank: Bank) -> int:
    """Grant what can be granted, in turn, and return how many were; what is left over is asked for
    by a message.

    One pass is enough: a grant only lowers Available, and whatever would be safe after it was safe
    before it. Whoever holds nothing passes the first that could not be served only as often as the
    pool's bypass limit allows.
    """
    if not bank.has_waiters:
        return 0
    granted, reach = 0, reach_of(bank)
    for line, request in grantable_requests(bank):
        process = bank.processes.setdefault(request.process_id, request.process)
        asker = asker_of(process, tuple(request.amounts))
        decision = bank.verdict_on(process, asker.amounts)
        is_bound = decision.verdict is BankVerdict.GRANT and not asker.holds
        first = first_before(bank, request, reach) if is_bound else None
        verdict = settle_turn(bank, asker, decision, first)
        if verdict is not BankVerdict.GRANT:
            line.note_refused(process, verdict)
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
