"""Requests for units, and their cancellation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from allocation.errors import (
    AlreadyStarted,
    AlreadyWaiting,
    BadDeadline,
    ClaimNotWhole,
    EmptyRequest,
    ProcessFinished,
    RequestExceedsNeed,
    RequestIdReused,
    StaleEpoch,
    UnknownRequest,
)
from allocation.fields import ClockTimestamp
from allocation.models import (
    EventKind,
    Policy,
    Process,
    ProcessState,
    Request,
    RequestKind,
    RequestState,
)
from allocation.rules import banker
from allocation.rules.banker import BankVerdict, Vector
from allocation.rules.fairness import QueueVerdict
from allocation.services.bank import Bank, locked_bank, locked_bank_of
from allocation.services.grants_on_release import grant_waiting_requests
from allocation.services.quick_path import quick_grant
from allocation.services.rows import is_request_known
from allocation.services.transaction import bank_transaction
from allocation.services.turns import asker_of, first_request_ahead, queue_reason, settle_turn
from allocation.values import RequestOutcome
from allocation.wording import excess_sentence


def request_resources(
    *,
    process: int,
    amounts: Mapping[str, int],
    request_id: UUID,
    kind: RequestKind = RequestKind.START,
    epoch: int | None = None,
    deadline_seconds: float | None = None,
) -> RequestOutcome:
    """Grant the amounts, or record that the process waits for them and why (SEEDS A3-A6).

    Repeating a `request_id` returns the state of that request, even if the first reply was lost. A
    start is requested by a process that holds nothing; growth and stage by a live shift, named by
    `epoch`. A stage replaces a waiting growth. After `deadline_seconds` a wait expires. Raises
    BadDeadline, UnknownProcess, RequestExceedsNeed (which the ledger records), StaleEpoch,
    AlreadyStarted, AlreadyWaiting, ProcessFinished, UnknownResource, BadAmount, EmptyRequest,
    RequestIdReused, ClaimNotWhole.
    """
    if deadline_seconds is not None and not deadline_seconds > 0:
        raise BadDeadline(deadline_seconds=deadline_seconds)
    quick = quick_grant(
        process=process,
        amounts=amounts,
        request_id=request_id,
        kind=RequestKind(kind),
        epoch=epoch,
        deadline_seconds=deadline_seconds,
    )
    if quick:
        return quick
    answer = _request_once(process, amounts, request_id, RequestKind(kind), epoch, deadline_seconds)
    if isinstance(answer, RequestExceedsNeed):
        raise answer
    return answer


@bank_transaction
def _request_once(
    process_id: int,
    amounts: Mapping[str, int],
    request_id: UUID,
    kind: RequestKind,
    epoch: int | None,
    deadline_seconds: float | None,
) -> RequestOutcome | RequestExceedsNeed:
    """Decide on a request. RequestExceedsNeed is returned and not raised, since the rejection has
    to be committed.
    """
    with locked_bank_of(process_id) as (bank, process):
        wanted = bank.vector(amounts)
        if not any(wanted):
            raise EmptyRequest(process=process.label)
        is_taken = is_request_known(request_id, process.pk)
        if is_taken and (
            earlier := Request.objects.select_related("grant").filter(pk=request_id).first()
        ):
            return _repeat_outcome(earlier, process, wanted, kind)
        _check_entitled(process, kind, epoch)
        _check_is_positive(bank, process, wanted, kind)
        waiting = process.requests.filter(state=RequestState.WAITING).first() if is_taken else None
        if waiting and not (kind == RequestKind.STAGE and waiting.kind == RequestKind.GROWTH):
            raise AlreadyWaiting(process=process.label, request=waiting.pk)

        request = Request(
            id=request_id,
            pool=bank.pool,
            process=process,
            kind=kind,
            amounts=list(wanted),
            epoch=process.epoch,
            state=RequestState.WAITING,
        )
        return _grant_or_refuse(bank, process, request, waiting, deadline_seconds)


def _grant_or_refuse(
    bank: Bank,
    process: Process,
    request: Request,
    growth: Request | None,
    deadline_seconds: float | None,
) -> RequestOutcome | RequestExceedsNeed:
    """Refuse, let wait, or grant, in the order of SEEDS A3."""
    wanted, need = (
        tuple(request.amounts),
        banker.minus(tuple(process.max_claim), tuple(process.allocated)),
    )
    if not banker.fits(wanted, need):
        bank.store_refusal(
            request, RequestState.REJECTED, reason=excess_sentence(bank.keys, wanted, need)
        )
        bank.log_request(EventKind.REJECTED, request)
        return RequestExceedsNeed(process=process.label, excess=request.reason)
    if growth:
        bank.end_wait(growth, RequestState.CANCELLED, "A stage request took its place.")
    outcome = _decide_in_turn(bank, process, request, deadline_seconds)
    if growth:
        grant_waiting_requests(bank)
    return outcome


def _decide_in_turn(
    bank: Bank, process: Process, request: Request, deadline_seconds: float | None
) -> RequestOutcome:
    wanted = tuple(request.amounts)
    asker, decision = asker_of(bank, process, wanted), bank.verdict_on_request(process, wanted)
    ahead = (
        None
        if asker.holds or decision.verdict is not BankVerdict.GRANT
        else first_request_ahead(bank, process, asker)
    )
    verdict = settle_turn(bank, asker, decision, ahead)
    if verdict is BankVerdict.GRANT:
        return bank.grant(request, decision, deadline_seconds)
    request.turn = ClockTimestamp() - asker.turn_advance
    if deadline_seconds is not None:
        request.deadline = ClockTimestamp() + timedelta(seconds=deadline_seconds)
    reason = (
        queue_reason(bank, process, asker, verdict, ahead)
        if isinstance(verdict, QueueVerdict)
        else bank.reason_of(process, wanted, verdict)
    )
    bank.store_refusal(request, RequestState.WAITING, verdict=verdict, reason=reason)
    bank.log_request(EventKind.WAITING, request, sequence=decision.sequence)
    return RequestOutcome.from_request(request)


def _repeat_outcome(
    request: Request, process: Process, wanted: Vector, kind: RequestKind
) -> RequestOutcome | RequestExceedsNeed:
    if (request.process_id, tuple(request.amounts), request.kind) != (process.pk, wanted, kind):
        raise RequestIdReused(request=request.pk)
    if request.state == RequestState.REJECTED:
        return RequestExceedsNeed(process=process.label, excess=request.reason)
    return RequestOutcome.from_request(request)


def _check_entitled(process: Process, kind: RequestKind, epoch: int | None) -> None:
    if process.state == ProcessState.FINISHED:
        raise ProcessFinished(process=process.label)
    if kind != RequestKind.START:
        check_epoch(process, epoch)
    elif process.lease_until is not None or any(process.allocated):
        raise AlreadyStarted(process=process.label, epoch=process.epoch)


def _check_is_positive(bank: Bank, process: Process, wanted: Vector, kind: RequestKind) -> None:
    """Raise an error if, in a pool where everything is requested at once, a request is not for the
    whole claim.
    """
    if (
        bank.pool.policy == Policy.ALL_AT_ONCE
        and kind == RequestKind.START
        and not banker.fits(tuple(process.max_claim), wanted)
    ):
        raise ClaimNotWhole(
            process=process.label, claim=bank.amounts_by_key(tuple(process.max_claim))
        )


def check_epoch(process: Process, epoch: int | None) -> None:
    """Raise StaleEpoch unless `epoch` names the live shift of the process."""
    if epoch != process.epoch or process.lease_until is None:
        raise StaleEpoch(process=process.label, epoch=epoch, latest=process.epoch)


@bank_transaction
def cancel_request(*, request_id: UUID) -> RequestOutcome:
    """Stop waiting. Return the state of the request: a request that was granted meanwhile stays
    granted.

    Raises UnknownRequest, also for a rejected request.
    """
    found = Request.objects.filter(pk=request_id).exclude(state=RequestState.REJECTED).first()
    if found is None:
        raise UnknownRequest(request=request_id)
    with locked_bank(found.pool_id, found.process_id) as bank:
        request = Request.objects.select_related("grant").get(pk=request_id)
        if request.state == RequestState.WAITING:
            bank.end_wait(request, RequestState.CANCELLED, "Cancelled.")
            grant_waiting_requests(bank)
        return RequestOutcome.from_request(request)
