"""Grant released units directly to waiting processes, under the same lock, so that no wake-up can
be lost.

Of ten thousand waiting starts most ask for the same amounts, and if no worker is free, none of them
fits. So the distinct amounts are read first, and then the first process with amounts that fit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush

from django.db import connection
from django.db.models import F, Q, Value

from allocation.fields import Within
from allocation.models import OutboxKind, Process, Request
from allocation.rules.banker import BankVerdict, Vector
from allocation.rules.fairness import URGENT, AnyVerdict, QueueVerdict
from allocation.rules.safety import fits
from allocation.services.bank import Bank, locked_bank
from allocation.services.transaction import bank_transaction
from allocation.services.turns import (
    MAX_CLAIM,
    asker_of,
    first_bypassed_request,
    reach_of,
    requests_in_turn,
    settle_turn,
)

#: the distinct amounts, each once; the index is searched once for each of them
AMOUNTS = """
WITH RECURSIVE line (amounts) AS (
    (SELECT amounts FROM allocation_request WHERE pool_id = %(pool)s AND state = 'waiting'
     ORDER BY amounts LIMIT 1)
    UNION ALL
    SELECT (SELECT next.amounts FROM allocation_request AS next
            WHERE next.pool_id = %(pool)s AND next.state = 'waiting' AND next.amounts > line.amounts
            ORDER BY next.amounts LIMIT 1)
    FROM line WHERE line.amounts IS NOT NULL
)
SELECT amounts FROM line WHERE allocation_within(amounts, %(available)s)
"""
#: the number of requests that are read at once, since often only the first of a line is served
SOME = 8
GRANTS_PER_TRANSACTION = 256


class WaitQueue:
    """The requests that wait for the same amounts, in turn, without requests that would be
    refused.
    """

    def __init__(self, bank: Bank, amounts: Vector) -> None:
        self.amounts = amounts
        self._bank = bank
        self._read = deque[Request]()
        self._wanted = Q(amounts=list(amounts))
        self._after = Q()

    def next(self) -> Request | None:
        while True:
            if not self._read:
                found = requests_in_turn(self._bank.pool).filter(self._wanted & self._after)
                self._read.extend(found[:SOME])
            if not self._read:
                return None
            request = self._read.popleft()
            self._after = Q(turn__gt=request.turn) | Q(turn=request.turn, seq__gt=request.seq)
            return request

    def note_refused(self, process: Process, verdict: AnyVerdict) -> None:
        """Leave out requests that would be refused for the same reason.

        These requests stay refused, since a grant lowers Available. Processes that hold something
        are not left out, since the verdict on them depends on their own units.
        """
        if any(process.allocated):
            return
        also = Q(process__holding=True)
        if isinstance(verdict, QueueVerdict) and self._bank.shares:
            # The limit, the reserve and perhaps the first in turn of another share are different.
            also |= ~Q(process__share=process.share_id)
        if verdict is BankVerdict.WAIT_UNSAFE:
            also |= ~Q(process__max_claim=process.max_claim)
        elif verdict is QueueVerdict.WAIT_SHARE:
            room = list(self._bank.share_use.claim_left(process.share_id) or ())
            also |= Q(Within(F("process__max_claim"), Value(room, output_field=MAX_CLAIM)))
        elif verdict is QueueVerdict.WAIT_RESERVED:
            also |= Q(process__priority__gte=URGENT)
        self._wanted &= also
        self._read.clear()


def grantable_requests(bank: Bank) -> Iterator[tuple[WaitQueue, Request]]:
    """The waiting requests whose amounts are available at their turn, in the order of turns."""
    with connection.cursor() as cursor:
        cursor.execute(AMOUNTS, {"pool": bank.pool.pk, "available": list(bank.available)})
        lines = [WaitQueue(bank, tuple(amounts)) for (amounts,) in cursor.fetchall()]
    heads: list[tuple[object, int, int, Request]] = []
    for place, line in enumerate(lines):
        _push_next_request(heads, place, line)
    while heads:
        _, _, place, request = heappop(heads)
        line = lines[place]
        if not fits(line.amounts, bank.available):
            continue
        yield line, request
        _push_next_request(heads, place, line)


def _push_next_request(
    heads: list[tuple[object, int, int, Request]], place: int, line: WaitQueue
) -> None:
    if request := line.next():
        heappush(heads, (request.turn, request.seq, place, request))


def grant_waiting_requests(bank: Bank) -> int:
    """Grant the requests that can be granted, in turn, up to a number. Return how many were
    granted. For the remaining requests a message is written.

    One pass is enough, since a grant only lowers Available, and any request that is safe after a
    grant was safe before it. A process that holds nothing bypasses the first process that could not
    be served only as often as the pool's bypass limit allows. But a grant may use up the limit of a
    share, and a start that waits because of this limit no longer keeps others from their turn. So
    if there are shares, another pass follows.
    """
    granted = 0
    while bank.has_waiters and granted < GRANTS_PER_TRANSACTION:
        more = _serve_in_turn(bank, GRANTS_PER_TRANSACTION - granted)
        granted += more
        if not more or not bank.shares:
            break
    return granted


def _serve_in_turn(bank: Bank, most: int) -> int:
    granted, reach = 0, reach_of(bank)
    for line, request in grantable_requests(bank):
        process = bank.processes.setdefault(request.process_id, request.process)
        asker = asker_of(bank, process, tuple(request.amounts))
        decision = bank.verdict_on_request(process, asker.amounts)
        is_bound = decision.verdict is BankVerdict.GRANT and not asker.holds
        first = first_bypassed_request(bank, request, reach) if is_bound else None
        verdict = settle_turn(bank, asker, decision, first)
        if verdict is not BankVerdict.GRANT:
            line.note_refused(process, verdict)
            continue
        if granted == most:
            bank.post_message(OutboxKind.PUMP)
            break
        bank.grant(request, decision)
        granted += 1
    return granted


@bank_transaction
def grant_waiting_requests_of_pool(*, pool: int) -> int:
    """Serve the waiting processes of a pool as after a release. Return the number of granted
    requests.
    """
    with locked_bank(pool) as bank:
        return grant_waiting_requests(bank)
