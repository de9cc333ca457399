"""Turns as stored in rows: the order of waiting requests, and how often each was bypassed.

The rules are in `allocation.rules.fairness`.
"""

from __future__ import annotations

from functools import reduce

from django.db.models import F, Q, QuerySet, Value

from allocation.fields import ClockTimestamp, Within
from allocation.models import Pool, Process, Request, RequestState
from allocation.reasons import FirstInTurn, OwnShare, explain_turns
from allocation.rules import banker, fairness
from allocation.rules.banker import BankVerdict, Decision, Vector
from allocation.rules.fairness import AnyVerdict, QueuedRequest, QueueVerdict, TurnRules
from allocation.rules.shares import NO_LIMIT
from allocation.services.bank import Bank
from allocation.wording import UnitWords

MAX_CLAIM = Process._meta.get_field("max_claim")
IN_TIME = Q(deadline=None) | Q(deadline__gt=ClockTimestamp())


def requests_in_turn(pool: Pool) -> QuerySet[Request]:
    """The waiting requests of a pool, in turn. Requests past their deadline are left out."""
    waiting = Request.objects.filter(IN_TIME, pool=pool, state=RequestState.WAITING)
    return waiting.order_by("turn", "seq").select_related("process")


def asker_of(bank: Bank, process: Process, amounts: Vector) -> QueuedRequest:
    return QueuedRequest.from_share_use(
        amounts,
        tuple(process.max_claim),
        bank.share_use,
        process.share_id,
        holds=any(process.allocated),
        priority=process.priority,
    )


def turn_rules(pool: Pool) -> TurnRules:
    return TurnRules(pool.bypass_limit, tuple(pool.capacity), tuple(pool.reserved))


def first_request_ahead(bank: Bank, process: Process, asker: QueuedRequest) -> Request | None:
    """The first request in turn, if its turn precedes that of a process that requests units now.
    Requests that must wait for reservations or for limits of other shares are left out.
    """
    if not bank.has_waiters:
        return None
    reach = Value(list(reach_of(bank)), output_field=MAX_CLAIM)
    ahead = requests_in_turn(bank.pool).filter(
        _may_precede(bank, process),
        Within(F("process__max_claim"), reach),
        turn__lte=ClockTimestamp() - asker.turn_advance,
    )
    return ahead.first()


def first_bypassed_request(bank: Bank, request: Request, reach: Vector) -> Request | None:
    """The first request in turn that a grant would bypass. Requests that must wait for reservations
    or for limits of other shares are left out.
    """
    most = Value(list(reach), output_field=MAX_CLAIM)
    others = requests_in_turn(bank.pool).exclude(pk=request.pk)
    first = others.filter(
        _may_precede(bank, request.process), Within(F("process__max_claim"), most)
    ).first()
    return first if first and (first.turn, first.seq) < (request.turn, request.seq) else None


def _may_precede(bank: Bank, asker: Process) -> Q:
    """The condition on requests that can be first in turn. Requests that must wait for the limit of
    another share cannot, since a grant to `asker` takes nothing from them.
    """
    use, others = bank.share_use, Q()
    for share, terms in bank.shares.items():
        room = use.claim_left(share)
        if share == asker.share_id or room is None or min(terms.limits) == NO_LIMIT:
            continue
        most = Value(list(room), output_field=MAX_CLAIM)
        others &= ~(
            Q(process__share=share, process__holding=False)
            & ~Q(Within(F("process__max_claim"), most))
        )
    return others


def reach_of(bank: Bank) -> Vector:
    """The capacity without the reservations.

    A process that claims more cannot be served before a reservation ends, so no process waits
    behind it.
    """
    kept = (
        tuple(process.allocated)
        for process in bank.deciding_processes
        if process.kept_until is not None
    )
    return reduce(banker.minus, kept, tuple(bank.pool.capacity))


def settle_turn(
    bank: Bank, asker: QueuedRequest, decision: Decision, ahead: Request | None
) -> AnyVerdict:
    """The decision's verdict, unless it is a grant that the rules of turns do not allow yet."""
    if decision.verdict is not BankVerdict.GRANT:
        return decision.verdict
    passed = ahead.bypassed if ahead else None
    return (
        fairness.turn_refusal(turn_rules(bank.pool), asker, bank.available, passed=passed)
        or BankVerdict.GRANT
    )


def queue_reason(
    bank: Bank,
    process: Process,
    asker: QueuedRequest,
    verdict: QueueVerdict,
    ahead: Request | None,
) -> str:
    """A sentence on whose turn it is, which units are reserved, or which limit is reached."""
    first = FirstInTurn(ahead.process.label, ahead.created_at, ahead.bypassed) if ahead else None
    measures = tuple(UnitWords(key, unit) for key, unit in bank.units.items())
    shares = OwnShare(bank.share_use, process.share_id)
    return explain_turns(verdict, turn_rules(bank.pool), asker, measures, first, shares).reason
