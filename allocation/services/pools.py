"""Create a pool, register processes in it, and add a resource class to an active pool, which
extends each of its arrays by one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import IntegrityError, connection, transaction

from allocation.errors import (
    BadClasses,
    BadPolicy,
    ClassesMissing,
    ClassKeyTaken,
    PoolNameTaken,
    UnknownPool,
    UnknownResource,
    UnknownShare,
)
from allocation.models import (
    EventKind,
    Grant,
    Policy,
    Pool,
    Process,
    ProcessState,
    Release,
    Request,
    ResourceClass,
)
from allocation.rules.shares import NO_LIMIT
from allocation.services.bank import locked_bank
from allocation.services.checks import check_claim_fits, check_priority, check_share_covers
from allocation.services.transaction import bank_transaction
from allocation.values import NewClass

#: the arrays by table, with the column that leads to the pool; the ledger is never rewritten, so
#: its readers fill up with 0
ARRAYS = (
    (Process, ("max_claim", "allocated"), "pool_id = %s"),
    (Request, ("amounts",), "pool_id = %s"),
    (
        Grant,
        ("amounts", "remaining"),
        "process_id IN (SELECT id FROM allocation_process WHERE pool_id = %s)",
    ),
    (Release, ("amounts",), "process_id IN (SELECT id FROM allocation_process WHERE pool_id = %s)"),
)
#: the time limit; a pool with a long past takes longer than a decision may
GROWING_SECONDS = 120


@bank_transaction
def create_pool(
    *,
    name: str,
    classes: Sequence[NewClass],
    policy: str = Policy.BANKER,
    is_experiment: bool = False,
) -> Pool:
    """Create a pool with these classes, in this order. Raises BadClasses, BadPolicy or
    PoolNameTaken.

    is_experiment: whether lists of pools leave it out. Its own page shows it.
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
        bank.log_event(EventKind.CREATED, amounts=tuple(capacity), before=(0,) * len(capacity))
    pool.version = bank.pool.version
    return pool


def create_pool_like(*, name: str, capacity: Mapping[str, int]) -> Pool:
    """Create a pool with the classes of the oldest one. capacity: the units of each class.

    Raises UnknownPool if there is no pool yet, UnknownResource, ClassesMissing, and the errors of
    `create_pool`.
    """
    oldest = Pool.objects.order_by("pk").first()
    if oldest is None or not name.strip():
        raise UnknownPool(pool=name)
    classes = list(oldest.classes.all())
    known = [one.key for one in classes]
    for key in capacity:
        if key not in known:
            raise UnknownResource(resource=key, known=", ".join(known))
    if missing := [key for key in known if key not in capacity]:
        raise ClassesMissing(missing=", ".join(missing))
    return create_pool(
        name=name.strip(),
        classes=[NewClass(one.key, one.unit, one.sentence, capacity[one.key]) for one in classes],
    )


def _check_classes(classes: Sequence[NewClass]) -> None:
    """Raise BadClasses for an empty list, and for invalid keys and capacities."""
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
    share: int | None = None,
) -> Process:
    """Register a process in the pool with its claim by class. The claim on a missing class is 0.

    A `run_ref` that is not empty identifies one process that may still make requests. If this is
    registered again, even by two callers at once, the existing process is returned unchanged.

    after_epoch: the latest epoch of a finished process that it replaces, so that no epoch is used
    twice. share: the share to which it belongs (`ensure_share`). Raises UnknownPool,
    UnknownResource, BadAmount, BadPriority, ClaimExceedsCapacity, UnknownShare, ClaimExceedsShare.
    A claim within capacity is always safe.
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
        if share is not None and share not in bank.shares:
            raise UnknownShare(share=share)
        check_share_covers(bank, share, claim)
        process = Process.objects.create(
            pool=bank.pool,
            label=label,
            run_ref=run_ref,
            share_id=share,
            max_claim=list(claim),
            allocated=[0] * len(claim),
            priority=priority,
            epoch=after_epoch,
        )
        bank.log_event(EventKind.REGISTERED, process, amounts=claim, share=share)
        return process


@bank_transaction
def add_resource_class(*, pool: int, new: NewClass) -> Pool:
    """Add a resource class at the next place.

    No process claims or holds units of it yet, so this is always safe.

    Raises UnknownPool, BadClasses, ClassKeyTaken.
    """
    if not new.key or type(new.capacity) is not int or new.capacity < 0:
        raise BadClasses(classes=new.key or "none")
    row = Pool.objects.select_for_update(no_key=True).filter(pk=pool).first()
    if row is None:
        raise UnknownPool(pool=pool)
    try:
        with transaction.atomic():
            row.classes.create(
                ordinal=len(row.capacity), key=new.key, unit=new.unit, sentence=new.sentence
            )
    except IntegrityError as error:
        raise ClassKeyTaken(key=new.key) from error
    _append_class(row, new.capacity)
    with locked_bank(pool) as bank:
        bank.log_event(
            EventKind.CLASS_ADDED,
            amounts=tuple(bank.pool.capacity),
            before=(*bank.available[:-1], 0),
            reason=f"New: {new.key}.",
        )
    return bank.pool


def _append_class(pool: Pool, capacity: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{GROWING_SECONDS}s"])
        cursor.execute(
            "UPDATE allocation_pool SET capacity = capacity || %s, available = available || %s, "
            "reserved = reserved || 0 WHERE id = %s",
            [capacity, capacity, pool.pk],
        )
        cursor.execute(
            "UPDATE allocation_share SET reserved = reserved || 0, limits = limits || %s "
            "WHERE pool_id = %s",
            [NO_LIMIT, pool.pk],
        )
        for model, columns, of_pool in ARRAYS:
            grown = ", ".join(f"{column} = {column} || 0" for column in columns)
            # the query contains only our own names
            cursor.execute(f"UPDATE {model._meta.db_table} SET {grown} WHERE {of_pool}", [pool.pk])  # noqa: S608
