"""Open a pool, and let processes into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import IntegrityError, transaction

from allocation.errors import BadClasses, BadPolicy, PoolNameTaken
from allocation.models import EventKind, Policy, Pool, Process, ProcessState, ResourceClass
from allocation.services.bank import locked_bank
from allocation.services.checks import check_claim_fits, check_priority
from allocation.services.transaction import bank_transaction
from allocation.values import NewClass


@bank_transaction
def create_pool(
    *,
    name: str,
    classes: Sequence[NewClass],
    policy: str = Policy.BANKER,
    is_experiment: bool = False,
) -> Pool:
    """Open a bank with these classes, in this order. Raises BadClasses, BadPolicy, PoolNameTaken.

    is_experiment: lists of pools leave it out; its own page shows it.
    """
    _check_classes(classes)
    if policy not in Policy.values:
        raise BadPolicy(policy=policy)
    capacity = [new.capacity for new in classes]
    try:
        with transaction.atomic():
            pool = Pool.objects.create(
                name=name,
                policy=policy,
                capacity=capacity,
                available=capacity,
                reserved=[0] * len(capacity),
                is_experiment=is_experiment,
            )
    except IntegrityError as error:
        raise PoolNameTaken(name=name) from error
    ResourceClass.objects.bulk_create(
        ResourceClass(pool=pool, ordinal=ordinal, key=new.key, unit=new.unit, sentence=new.sentence)
        for ordinal, new in enumerate(classes)
    )
    with locked_bank(pool.pk) as bank:
        bank.log(EventKind.CREATED, amounts=tuple(capacity), before=(0,) * len(capacity))
    pool.version = bank.pool.version
    return pool


def _check_classes(classes: Sequence[NewClass]) -> None:
    """Raise BadClasses for none at all, and for keys and capacities that cannot be."""
    keys = [new.key for new in classes]
    bad = [
        new.key
        for new in classes
        if not new.key
        or keys.count(new.key) > 1
        or type(new.capacity) is not int
        or new.capacity < 0
    ]
    if bad or not classes:
        raise BadClasses(classes=", ".join(bad) or "none")


@bank_transaction
def register_process(
    *,
    pool: int,
    label: str,
    run_ref: str,
    maximum: Mapping[str, int],
    priority: int = 0,
    after_epoch: int = 0,
) -> Process:
    """Let a process into the bank with its claim by class; a class not named is claimed 0.

    A `run_ref` that is not empty names one process that may still ask: registered again, by two at
    once even, that one is returned as it stands.

    after_epoch: the latest epoch of a finished process in whose place it comes, so that no epoch is
    used twice. Raises UnknownPool, UnknownResource, BadAmount, BadPriority, ClaimExceedsCapacity. A
    claim within capacity is always safe.
    """
    check_priority(priority)
    with locked_bank(pool) as bank:
        claim = bank.vector(maximum)
        check_claim_fits(bank, claim)
        if run_ref and (
            known := Process.objects.filter(
                pool=pool, run_ref=run_ref, state=ProcessState.ACTIVE
            ).first()
        ):
            return known
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
