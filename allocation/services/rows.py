"""Reads the rows that a decision needs, while the pool is locked: with few statements, most of
which are sent together.

Building Django's queries would take longer than these statements, and making model instances of a
hundred holders longer than the search for a safe sequence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Model

from allocation.models import Pool, Process
from allocation.rules.banker import Vector
from allocation.rules.shares import ShareTerms
from allocation.services.transaction import pipelined_statements, planned_cursor

M = TypeVar("M", bound=Model)


class UnitHolder(NamedTuple):
    pk: int
    label: str
    share_id: int | None
    max_claim: list[int]
    allocated: list[int]
    kept_until: datetime | None


@dataclass(frozen=True)
class PoolSurroundings:
    #: the unit of each class, by its key
    units: dict[str, str]
    has_waiters: bool
    #: complete rows of the processes that may change
    named: dict[int, Process]
    #: the processes that hold units, by id
    holders: dict[int, UnitHolder]
    shares: dict[int, ShareTerms]


def lock_pool(pool: int) -> Pool | None:
    """Lock a pool's row until the transaction ends, and read it. None if it does not exist."""
    return _read_first_row(Pool, "WHERE id = %s FOR NO KEY UPDATE", pool)


def lock_pool_of(process: int) -> Pool | None:
    """Lock the pool of a process, which never changes. None if there is no such process."""
    return _read_first_row(
        Pool,
        "WHERE id = (SELECT pool_id FROM allocation_process WHERE id = %s) FOR NO KEY UPDATE",
        process,
    )


def read_surroundings(pool: Pool, named: Collection[int]) -> PoolSurroundings:
    """Read the rows that belong to a pool.

    Called after `lock_pool`, so that the statements begin while the lock is held.
    """
    with planned_cursor() as classes, planned_cursor() as holding, planned_cursor() as others:
        with pipelined_statements():
            classes.execute(
                "SELECT array_agg(key ORDER BY ordinal), array_agg(unit ORDER BY ordinal),"
                " EXISTS (SELECT FROM allocation_request AS waits WHERE waits.pool_id = %s "
                "AND waits.state = 'waiting'), ARRAY(SELECT json_build_array(id, name, reserved, "
                "limits) FROM allocation_share WHERE pool_id = %s ORDER BY id)"
                " FROM allocation_resourceclass WHERE pool_id = %s",
                [pool.pk, pool.pk, pool.pk],
            )
            holding.execute(
                "SELECT id, label, share_id, max_claim, allocated, kept_until "
                "FROM allocation_process WHERE holding AND pool_id = %s ORDER BY id",
                [pool.pk],
            )
            _select(
                others,
                Process,
                "WHERE id = ANY(%s) AND pool_id = %s ORDER BY id",
                list(named),
                pool.pk,
            )
        keys, units, has_waiters, shares = classes.fetchone()
        holders = {row[0]: UnitHolder(*row) for row in holding.fetchall()}
        processes = {process.pk: process for process in _read_rows(others, Process)}
    return PoolSurroundings(
        dict(zip(keys or [], units or [], strict=True)),
        has_waiters,
        processes,
        holders,
        {
            pk: ShareTerms(name, tuple(reserved), tuple(limits))
            for pk, name, reserved, limits in shares
        },
    )


def is_request_known(request_id: UUID, process: int) -> bool:
    """Whether there is a request with this id, or a waiting request of this process."""
    with planned_cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM allocation_request WHERE id = %s)"
            " OR EXISTS (SELECT FROM allocation_request WHERE process_id = %s "
            "AND state = 'waiting')",
            [request_id, process],
        )
        return bool(cursor.fetchone()[0])


def write_pool(pool: Pool, available: Vector, *, channel: str | None) -> None:
    """Write those columns of a pool that decisions change, and notify `channel`."""
    with planned_cursor() as cursor:
        cursor.execute(
            "UPDATE allocation_pool SET capacity = %s, available = %s, version = %s, is_safe = "
            "%s, updated_at = clock_timestamp()"
            " WHERE id = %s RETURNING CASE WHEN %s THEN pg_notify(%s, id::text) END",
            [
                pool.capacity,
                list(available),
                pool.version,
                pool.is_safe,
                pool.pk,
                channel is not None,
                channel or "",
            ],
        )


def _read_first_row(model: type[M], where: str, *values: Any) -> M | None:
    with planned_cursor() as cursor:
        _select(cursor, model, where, *values)
        return next(_read_rows(cursor, model), None)


def _select(cursor: CursorWrapper, model: type[Model], where: str, *values: Any) -> None:
    cursor.execute(f"{_query_of_model(model)[1]} {where}", values)


def _read_rows(cursor: CursorWrapper, model: type[M]) -> Iterator[M]:
    names = _query_of_model(model)[0]
    return (model.from_db(connection.alias, names, row) for row in cursor.fetchall())


@cache
def _query_of_model(model: type[Model]) -> tuple[list[str], str]:
    """The fields of a model and the query for them, built once."""
    fields = model._meta.concrete_fields
    columns = ", ".join(f'"{field.column}"' for field in fields)
    # the query contains only our own names
    return [field.attname for field in fields], f'SELECT {columns} FROM "{model._meta.db_table}"'  # noqa: S608
