"""A resource class for a pool that is at work: every array of the pool grows by one place."""

from __future__ import annotations

from django.db import IntegrityError, connection, transaction

from allocation.errors import BadClasses, ClassKeyTaken, UnknownPool
from allocation.models import EventKind, Grant, Pool, Process, Release, Request
from allocation.services.bank import locked_bank
from allocation.services.transaction import bank_transaction
from allocation.values import NewClass

#: the arrays by table, and the column that leads to the pool; the ledger is never rewritten, so its
#: readers fill up with 0
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
#: a pool with a long past takes longer than a decision may
GROWING_SECONDS = 120


@bank_transaction
def add_class(*, pool: int, new: NewClass) -> Pool:
    """Add a resource class at the next place.

    Nobody claims or holds any of it yet, so it is always safe.

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
    _grow(row, new.capacity)
    with locked_bank(pool) as bank:
        bank.log(
            EventKind.CLASS_ADDED,
            amounts=tuple(bank.pool.capacity),
            before=(*bank.available[:-1], 0),
            reason=f"New: {new.key}.",
        )
    return bank.pool


def _grow(pool: Pool, capacity: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{GROWING_SECONDS}s"])
        cursor.execute(
            "UPDATE allocation_pool SET capacity = capacity || %s, available = available || %s, "
            "reserved = reserved || 0 WHERE id = %s",
            [capacity, capacity, pool.pk],
        )
        for model, columns, of_pool in ARRAYS:
            grown = ", ".join(f"{column} = {column} || 0" for column in columns)
            # names of our own
            cursor.execute(f"UPDATE {model._meta.db_table} SET {grown} WHERE {of_pool}", [pool.pk])  # noqa: S608
