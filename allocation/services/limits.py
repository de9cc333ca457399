"""Limits, edited while crawls run: capacity, claims, reserves, turns.

Unsafe changes are refused unless they are overridden.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from allocation.errors import (
    BadBypassLimit,
    CapacityBelowUse,
    CapacityWouldBeUnsafe,
    ClaimWouldBeUnsafe,
    ProcessFinished,
)
from allocation.models import EventKind, Pool, Process, ProcessState, Request, RequestState
from allocation.rules import banker
from allocation.services.bank import Bank, locked_bank, locked_bank_of
from allocation.services.checks import (
    check_claim_covers,
    check_claim_fits,
    check_claims_fit_capacity,
    check_priority,
    check_safe,
    check_share_covers,
)
from allocation.services.grants_on_release import grant_waiting_requests
from allocation.services.transaction import bank_transaction
from allocation.services.turns import asker_of
from allocation.values import Override, PoolLimits, ProcessLimits

MOST_BYPASSES = 10_000


@dataclass(frozen=True)
class ChangedLimits:
    """The pool after a change of limits, and the processes that could not be sure to finish under
    the new limits. Without an override there are none.
    """

    bank: Bank
    stuck: tuple[str, ...] = ()


@bank_transaction
def change_limits(*, pool: int, limits: PoolLimits, override: Override | None = None) -> Pool:
    """Change a pool's capacity, reserves and bypass limit, all or nothing. Serve waiting processes
    that the new limits allow.

    With an override an unsafe state is accepted and the pool is flagged. Until the state is safe
    again, only requests that make it safe, or that let their process finish, are granted. Raises
    CapacityBelowUse, CapacityBelowClaim, CapacityWouldBeUnsafe, BadBypassLimit, OverrideNeedsReason
    and the errors of `vector`; then nothing has changed.
    """
    return put_limits(pool, limits, override).bank.pool


def set_capacity(
    *, pool: int, capacity: Mapping[str, int], override: Override | None = None
) -> Pool:
    """`change_limits` for the capacity of the named classes only."""
    return change_limits(pool=pool, limits=PoolLimits(capacity=capacity), override=override)


@bank_transaction
def change_process(
    *, process: int, limits: ProcessLimits, override: Override | None = None
) -> Process:
    """Change a process's claim (of the named classes; others stay) and priority, all or nothing.

    Serves processes that had to wait for safety. A waiting start gets the turn of its new priority.
    Raises ClaimBelowHoldings, ClaimExceedsCapacity, ClaimWouldBeUnsafe, BadPriority,
    ProcessFinished, OverrideNeedsReason and the errors of `vector`; then nothing has changed.
    """
    return put_process(process, limits, override).bank.processes[process]


def change_claim(
    *, process: int, maximum: Mapping[str, int], override: Override | None = None
) -> Process:
    """`change_process` for the claim only."""
    return change_process(process=process, limits=ProcessLimits(maximum=maximum), override=override)


def put_limits(pool: int, limits: PoolLimits, override: Override | None) -> ChangedLimits:
    """`change_limits` within the caller's transaction of the pool."""
    with locked_bank(pool) as bank:
        stuck = _put_capacity(bank, limits.capacity, override) if limits.capacity else ()
        if limits.reserved:
            _put_reserved(bank, limits.reserved)
        if limits.bypass_limit is not None:
            _put_bypass_limit(bank, limits.bypass_limit)
        grant_waiting_requests(bank)
    return ChangedLimits(bank, stuck)


def put_process(process: int, limits: ProcessLimits, override: Override | None) -> ChangedLimits:
    """`change_process` within the caller's transaction of the pool."""
    with locked_bank_of(process) as (bank, changed):
        if changed.state == ProcessState.FINISHED:
            raise ProcessFinished(process=changed.label)
        stuck: tuple[str, ...] = ()
        if limits.maximum:
            stuck = _put_claim(bank, changed, limits.maximum, override)
        if limits.priority is not None:
            _put_priority(bank, changed, limits.priority)
        grant_waiting_requests(bank)
    return ChangedLimits(bank, stuck)


def _put_capacity(
    bank: Bank, capacity: Mapping[str, int], override: Override | None
) -> tuple[str, ...]:
    named, old = bank.vector(capacity), tuple(bank.pool.capacity)
    new = tuple(named[j] if key in capacity else old[j] for j, key in enumerate(bank.keys))
    in_use, before = banker.minus(old, bank.available), bank.available
    for key, used, units in zip(bank.keys, in_use, new, strict=True):
        if used > units:
            raise CapacityBelowUse(resource=key, capacity=units, in_use=used)
    check_claims_fit_capacity(bank, new, old)
    available = banker.minus(new, in_use)
    stuck = (
        ()
        if banker.fits(old, new)
        else check_safe(bank, available, CapacityWouldBeUnsafe, override)
    )
    bank.pool.capacity, bank.available = list(new), available
    bank.log_event(EventKind.CAPACITY_SET, amounts=new, before=before)
    return stuck


def _put_reserved(bank: Bank, units: Mapping[str, int]) -> None:
    named = bank.vector(units)
    bank.pool.reserved = [
        named[j] if key in units else bank.pool.reserved[j] for j, key in enumerate(bank.keys)
    ]
    bank.pool.save(update_fields=["reserved"])
    bank.log_event(EventKind.RESERVED_SET, amounts=tuple(bank.pool.reserved))


def _put_bypass_limit(bank: Bank, limit: int) -> None:
    if type(limit) is not int or not 0 <= limit <= MOST_BYPASSES:
        raise BadBypassLimit(bypass_limit=limit)
    said = f"The bypass limit is {limit}, after {bank.pool.bypass_limit}."
    bank.pool.bypass_limit = limit
    bank.pool.save(update_fields=["bypass_limit"])
    bank.log_event(EventKind.RULES_CHANGED, reason=said)


def _put_claim(
    bank: Bank,
    process: Process,
    maximum: Mapping[str, int],
    override: Override | None,
) -> tuple[str, ...]:
    named, old = bank.vector(maximum), tuple(process.max_claim)
    claim = tuple(named[j] if key in maximum else old[j] for j, key in enumerate(bank.keys))
    check_claim_covers(bank, process, claim)
    check_claim_fits(bank, claim)
    if not banker.fits(claim, old):
        check_share_covers(bank, process.share_id, claim, process)
    process.max_claim = list(claim)
    stuck = (
        ()
        if banker.fits(claim, old)
        else check_safe(bank, bank.available, ClaimWouldBeUnsafe, override)
    )
    process.save(update_fields=["max_claim"])
    bank.log_event(EventKind.CLAIM_CHANGED, process, amounts=claim)
    return stuck


def _put_priority(bank: Bank, process: Process, priority: int) -> None:
    check_priority(priority)
    said = f"The priority is {priority}, after {process.priority}."
    process.priority = priority
    process.save(update_fields=["priority"])
    for request in Request.objects.filter(process=process, state=RequestState.WAITING):
        request.turn = (
            request.created_at - asker_of(bank, process, tuple(request.amounts)).turn_advance
        )
        request.save(update_fields=["turn"])
    bank.log_event(EventKind.PRIORITY_CHANGED, process, reason=said)
