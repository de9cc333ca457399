"""Conditions that must hold before limits change. Each check raises the refusal with the reason."""

from __future__ import annotations

from allocation.errors import (
    BadPriority,
    CapacityBelowClaim,
    CapacityWouldBeUnsafe,
    ClaimBelowHoldings,
    ClaimExceedsCapacity,
    ClaimExceedsShare,
    ClaimWouldBeUnsafe,
    OverrideNeedsReason,
)
from allocation.models import EventKind, Policy, Process, ProcessState, RequestState
from allocation.rules import banker
from allocation.rules.banker import State, Vector
from allocation.rules.fairness import PRIORITIES
from allocation.rules.shares import exceeded_classes
from allocation.services.bank import Bank
from allocation.values import Override


def check_priority(priority: int) -> None:
    """Raise BadPriority for an invalid priority."""
    if type(priority) is not int or priority not in PRIORITIES:
        raise BadPriority(priority=priority)


def check_claim_fits(bank: Bank, claim: Vector) -> None:
    """Raise ClaimExceedsCapacity if the pool could never serve the claim."""
    for key, units, capacity in zip(bank.keys, claim, bank.pool.capacity, strict=True):
        if units > capacity:
            raise ClaimExceedsCapacity(resource=key, claim=units, capacity=capacity)


def check_share_covers(
    bank: Bank, share: int | None, claim: Vector, holder: Process | None = None
) -> None:
    """Raise ClaimExceedsShare if no process of the share could start with the claim. For a process
    that holds something, raise it if the claims of the share's other processes leave no space for
    the claim.
    """
    if share is None:
        return
    others = (0,) * len(claim)
    if holder is not None and any(holder.allocated):
        others = banker.minus(bank.share_use.claimed_units(share), tuple(holder.max_claim))
    limits = bank.shares[share].limits
    for j in exceeded_classes(banker.plus(others, claim), limits):
        raise ClaimExceedsShare(
            resource=bank.keys[j],
            claim=claim[j],
            share=bank.shares[share].name,
            limit=limits[j],
            claimed_by_others=others[j],
        )


def check_claim_covers(bank: Bank, process: Process, claim: Vector) -> None:
    """Raise an error if the process's units and requests together exceed its claim."""
    waiting = process.requests.filter(state=RequestState.WAITING).first()
    bound = (
        banker.plus(tuple(process.allocated), tuple(waiting.amounts))
        if waiting
        else tuple(process.allocated)
    )
    for key, units, least in zip(bank.keys, claim, bound, strict=True):
        if units < least:
            raise ClaimBelowHoldings(resource=key, claim=units, least=least)


def check_claims_fit_capacity(bank: Bank, new: Vector, old: Vector) -> None:
    """Raise an error if a claim exceeds the new capacity. Only a class with less capacity can be
    exceeded, so nothing is read unless there is one.
    """
    if banker.fits(old, new):
        return
    active = Process.objects.filter(pool=bank.pool, state=ProcessState.ACTIVE).order_by("pk")
    for label, claim in active.values_list("label", "max_claim"):
        for key, units, capacity in zip(bank.keys, claim, new, strict=True):
            if units > capacity:
                raise CapacityBelowClaim(
                    resource=key, capacity=capacity, process=label, claim=units
                )


def check_safe(
    bank: Bank,
    available: Vector,
    refusal: type[CapacityWouldBeUnsafe | ClaimWouldBeUnsafe],
    override: Override | None,
) -> tuple[str, ...]:
    """Make the full check, with the claims in memory. Return the processes that could not be sure
    to finish, if an override accepts that; otherwise raise `refusal`.

    A naive pool promises no safety.
    """
    if bank.pool.policy == Policy.NAIVE:
        return ()
    state, rows = bank.state()
    state = State(available, state.maximum, state.allocation)
    finish = set(banker.finishable_processes(state))
    stuck = tuple(process.label for i, process in enumerate(rows) if i not in finish)
    if not stuck:
        return ()
    if override is None:
        raise refusal(stuck=", ".join(stuck))
    if not override.reason.strip():
        raise OverrideNeedsReason
    bank.pool.is_safe = False
    bank.log_event(EventKind.OVERRIDDEN, reason=f"{override.by}: {override.reason.strip()}")
    return stuck
