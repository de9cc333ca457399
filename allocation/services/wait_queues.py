"""Those that wait, by what they ask for: a release looks at those alone that it may serve.

Of ten thousand starts that wait most ask for the same amounts, and where a worker is lacking none
of them fits. So the different amounts are read first, and of those that fit whoever is first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush

from django.db import connection
from django.db.models import Q

from allocation.models import Process, Request
from allocation.rules.banker import BankVerdict, Vector
from allocation.rules.fairness import URGENT, AnyVerdict, QueueVerdict
from allocation.rules.safety import fits
from allocation.services.bank import Bank
from allocation.services.turns import in_turn

#: each different amounts once: as many steps in an index as there are of them
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
#: requests that are read at once: of a line often only the first is served
SOME = 8


class WaitQueue:
    """The requests that wait for the same amounts, in turn, without those that would be refused."""

    def __init__(self, bank: Bank, amounts: Vector) -> None:
        self.amounts = amounts
        self._bank = bank
        self._read = deque[Request]()
        self._wanted = Q(amounts=list(amounts))
        self._after = Q()

    def next(self) -> Request | None:
        """The next in turn; None: there is no more."""
        while True:
            if not self._read:
                found = in_turn(self._bank.pool).filter(self._wanted & self._after)
                self._read.extend(found[:SOME])
            if not self._read:
                return None
            request = self._read.popleft()
            self._after = Q(turn__gt=request.turn) | Q(turn=request.turn, seq__gt=request.seq)
            return request

    def note_refused(self, process: Process, verdict: AnyVerdict) -> None:
        """Leave out those that would be refused for the same reason.

        They stay refused, since a grant lowers what is available. It is no reason against one that
        holds something: what it holds makes its case another.
        """
        if any(process.allocated):
            return
        also = Q(process__holding=True)
        if verdict is BankVerdict.WAIT_UNSAFE:
            also |= ~Q(process__max_claim=process.max_claim)
        elif verdict is QueueVerdict.WAIT_RESERVED:
            also |= Q(process__priority__gte=URGENT)
        self._wanted &= also
        self._read.clear()


def grantable_requests(bank: Bank) -> Iterator[tuple[WaitQueue, Request]]:
    """The waiting requests whose amounts are available when their turn comes, in turn."""
    with connection.cursor() as cursor:
        cursor.execute(AMOUNTS, {"pool": bank.pool.pk, "available": list(bank.available)})
        lines = [WaitQueue(bank, tuple(amounts)) for (amounts,) in cursor.fetchall()]
    heads: list[tuple[object, int, int, Request]] = []
    for place, line in enumerate(lines):
        _push(heads, place, line)
    while heads:
        _, _, place, request = heappop(heads)
        line = lines[place]
        if not fits(line.amounts, bank.available):
            continue
        yield line, request
        _push(heads, place, line)


def _push(heads: list[tuple[object, int, int, Request]], place: int, line: WaitQueue) -> None:
    if request := line.next():
        heappush(heads, (request.turn, request.seq, place, request))
