"""Pools, processes and their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from allocation import banker
from allocation.banker import State, Vector
from allocation.errors import (
    BadClasses,
    BadPolicy,
    BadPriority,
    CapacityBelowClaim,
    CapacityBelowUse,
    CapacityWouldBeUnsafe,
    ClaimBelowHoldings,
    ClaimExceedsCapacity,
    ClaimWouldBeUnsafe,
    OverrideNeedsReason,
    PoolNameTaken,
    ProcessFinished,
)
from allocation.fairness import PRIORITIES
from allocation.models import EventKind, Policy, Pool, Process, ProcessState, RequestState, ResourceClass
from allocation.services.bank import Bank, locked_bank, pool_of
from allocation.services.pumping import pump
from allocation.services.transaction import bank_transaction
from allocation.values import NewClass, Override


@dataclass(frozen=True)
class Changed:
    """The bank as a change of limits left it, and who could not be sure to finish under it: nobody, unless it was overridden."""

    bank: Bank
    stuck: tuple[str, ...] = ()


@bank_transaction
def create_pool(*, name: str, classes: Sequence[NewClass], policy: str = Policy.BANKER) -> Pool:
    """Open a bank with these classes, in this order. Raises BadClasses, BadPolicy, PoolNameTaken."""
    keys = [new.key for new in classes]
    bad = [new.key for new in classes if not new.key or keys.count(new.key) > 1 or type(new.capacity) is not int or new.capacity < 0]
    if bad or not classes:
        raise BadClasses(classes=", ".join(bad) or "none")
    if policy not in Policy.values:
        raise BadPolicy(policy=policy)
    capacity = [new.capacity for new in classes]
    try:
        with transaction.atomic():
            pool = Pool.objects.create(name=name, policy=policy, capacity=capacity, available=capacity, reserved=[0] * len(capacity))
    except IntegrityError as error:
        raise PoolNameTaken(name=name) from error
    ResourceClass.objects.bulk_create(
        ResourceClass(pool=pool, ordinal=ordinal, key=new.key, unit=new.unit, sentence=new.sentence) for ordinal, new in enumerate(classes)
    )
    with locked_bank(pool.pk) as bank:
        bank.log(EventKind.CREATED, amounts=tuple(capacity), before=(0,) * len(capacity))
    pool.version = bank.pool.version
    return pool


@bank_transaction
def register_process(
    *, pool: int, label: str, run_ref: str, maximum: Mapping[str, int], priority: int = 0, after_epoch: int = 0
) -> Process:
    """Let a process into the bank with its claim by class; a class not named is claimed 0.

    after_epoch: the latest epoch of a finished process in whose place it comes, so that no epoch is used twice.
    Raises UnknownPool, UnknownResource, BadAmount, BadPriority, ClaimExceedsCapacity. A claim within capacity is always
    safe.
    """
    if priority not in PRIORITIES:
        raise BadPriority(priority=priority)
    with locked_bank(pool) as bank:
        claim = bank.vector(maximum)
        _check_claim_fits(bank, claim)
        process = Process.objects.create(
            pool=bank.pool,
            label=label,
            run_ref=run_ref,
            max_claim=list(claim),
            allocated=[0] * len(claim),
            priority=priority,
            epoch=after_epoch,
        )
        bank.log(EventKind.REGISTERED, process, amounts=claim)
        return process


@bank_transaction
def change_claim(*, process: int, maximum: Mapping[str, int], override: Override | None = None) -> Process:
    """Change the claim in the classes named: down to what is held or waited for, up as far as the state stays safe.

    Raises ClaimBelowHoldings, ClaimExceedsCapacity, ClaimWouldBeUnsafe, ProcessFinished and what `vector` raises.
    """
    return put_claim(process, maximum, override).bank.processes[process]


@bank_transaction
def enter_stage(*, process: int, stage: str, claim: Mapping[str, int]) -> Process:
    """Note that the process enters a stage of its work, and what it may hold at most from here on (classes not named: as before).

    A process that lowers its claim stage by stage lets others go on earlier: lowering is always safe (Lang, IEEE TSE 25(3),
    1999). Raising is checked. Raises what `change_claim` does: then nothing has changed.
    """
    return put_claim(process, claim, stage=stage).bank.processes[process]


def put_claim(process: int, maximum: Mapping[str, int], override: Override | None = None, *, stage: str | None = None) -> Changed:
    """`change_claim` within the caller's bank transaction."""
    with locked_bank(pool_of(process), process) as bank:
        changed = bank.processes[process]
        if changed.state == ProcessState.FINISHED:
            raise ProcessFinished(process=changed.label)
        named = bank.vector(maximum)
        old = tuple(changed.max_claim)
        claim = tuple(named[j] if key in maximum else old[j] for j, key in enumerate(bank.keys))
        _check_claim_covers(bank, changed, claim)
        _check_claim_fits(bank, claim)
        changed.max_claim = list(claim)
        stuck = () if banker.fits(claim, old) else _check_safe(bank, bank.available, ClaimWouldBeUnsafe, override)
        changed.stage = changed.stage if stage is None else stage
        changed.save(update_fields=["max_claim", "stage"])
        bank.log(EventKind.CLAIM_CHANGED, changed, amounts=claim, reason=f"Stage: {stage}." if stage else "")
        pump(bank)
    return Changed(bank, stuck)


@bank_transaction
def set_capacity(*, pool: int, capacity: Mapping[str, int], override: Override | None = None) -> Pool:
    """Change the capacity of the classes named, and serve those who wait if there is more.

    With an override an unsafe state is put up with and the pool is flagged: until the state is safe again only requests
    that make it so, or that let their process finish, are granted.

    Raises CapacityBelowUse, CapacityBelowClaim, CapacityWouldBeUnsafe: then nothing has changed.
    """
    return put_capacity(pool, capacity, override).bank.pool


def put_capacity(pool: int, capacity: Mapping[str, int], override: Override | None) -> Changed:
    """`set_capacity` within the caller's bank transaction."""
    with locked_bank(pool) as bank:
        named, old = bank.vector(capacity), tuple(bank.pool.capacity)
        new = tuple(named[j] if key in capacity else old[j] for j, key in enumerate(bank.keys))
        in_use, before = banker.minus(old, bank.available), bank.available
        for key, used, units in zip(bank.keys, in_use, new, strict=True):
            if used > units:
                raise CapacityBelowUse(resource=key, capacity=units, in_use=used)
        _check_claims_within(bank, new, old)
        available = banker.minus(new, in_use)
        stuck = () if banker.fits(old, new) else _check_safe(bank, available, CapacityWouldBeUnsafe, override)
        bank.pool.capacity, bank.available = list(new), available
        bank.log(EventKind.CAPACITY_SET, amounts=new, before=before)
        pump(bank)
    return Changed(bank, stuck)


@bank_transaction
def set_reserved(*, pool: int, units: Mapping[str, int]) -> Pool:
    """Leave the last units of the classes named to urgent starts, and serve those who wait if it is less than before.

    Whoever holds something is never bound by it. Raises UnknownPool, UnknownResource, BadAmount.
    """
    with locked_bank(pool) as bank:
        named = bank.vector(units)
        bank.pool.reserved = [named[j] if key in units else bank.pool.reserved[j] for j, key in enumerate(bank.keys)]
        bank.pool.save(update_fields=["reserved"])
        bank.log(EventKind.RESERVED_SET, amounts=tuple(bank.pool.reserved))
        pump(bank)
        return bank.pool


def _check_claim_fits(bank: Bank, claim: Vector) -> None:
    for key, units, capacity in zip(bank.keys, claim, bank.pool.capacity, strict=True):
        if units > capacity:
            raise ClaimExceedsCapacity(resource=key, claim=units, capacity=capacity)


def _check_claim_covers(bank: Bank, process: Process, claim: Vector) -> None:
    """What the process holds, and what it waits for besides, must stay within its claim."""
    waiting = process.requests.filter(state=RequestState.WAITING).first()
    bound = banker.plus(tuple(process.allocated), tuple(waiting.amounts)) if waiting else tuple(process.allocated)
    for key, units, least in zip(bank.keys, claim, bound, strict=True):
        if units < least:
            raise ClaimBelowHoldings(resource=key, claim=units, least=least)


def _check_claims_within(bank: Bank, new: Vector, old: Vector) -> None:
    """Only a class that shrinks can fall below a claim, so nothing is read unless one does."""
    if banker.fits(old, new):
        return
    active = Process.objects.filter(pool=bank.pool, state=ProcessState.ACTIVE).order_by("pk")
    for label, claim in active.values_list("label", "max_claim"):
        for key, units, capacity in zip(bank.keys, claim, new, strict=True):
            if units > capacity:
                raise CapacityBelowClaim(resource=key, capacity=capacity, process=label, claim=units)


def _check_safe(
    bank: Bank, available: Vector, refusal: type[CapacityWouldBeUnsafe | ClaimWouldBeUnsafe], override: Override | None
) -> tuple[str, ...]:
    """The full check, on the claims as they now stand in memory; returns who could not be sure to finish, if that is overridden.

    A naive pool promises nothing.
    """
    if bank.pool.policy == Policy.NAIVE:
        return ()
    state, rows = bank.state()
    state = State(available, state.maximum, state.allocation)
    finish = set(banker.finishable(state))
    stuck = tuple(process.label for i, process in enumerate(rows) if i not in finish)
    if not stuck:
        return ()
    if override is None:
        raise refusal(stuck=", ".join(stuck))
    if not override.reason.strip():
        raise OverrideNeedsReason
    bank.pool.is_safe = False
    bank.log(EventKind.OVERRIDDEN, reason=f"{override.by}: {override.reason.strip()}")
    return stuck
