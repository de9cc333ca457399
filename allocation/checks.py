"""Reports missing units: in `manage.py check --database default`, in `/readyz` and at each
start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connection

from allocation.models import Conservation


class MissingUnits(NamedTuple):
    """A class with missing units, or with units that are held without a grant."""

    pool: int
    name: str
    sentence: str


def pools_with_missing_units() -> list[MissingUnits]:
    """Each such class, pool by pool.

    Reads as few columns as possible, since it also runs before migrations, on tables older than the
    models.
    """
    broken = Conservation.objects.exclude(difference=0, ungranted=0).order_by("pool", "ordinal")
    return [
        MissingUnits(
            pool,
            name,
            f"Units of {key} are missing in pool {name}: capacity {capacity}, available "
            f"{available}, "
            f"held {allocated}, of which {ungranted} without a grant.",
        )
        for pool, name, key, capacity, available, allocated, ungranted in broken.values_list(
            "pool", "pool__name", "key", "capacity", "available", "allocated", "ungranted"
        )
    ]


def missing_unit_sentences() -> list[str]:
    """A sentence for each such class."""
    return [row.sentence for row in pools_with_missing_units()]


@register(Tags.database)
def conservation_check(
    *, databases: Sequence[str] | None = None, **options: Any
) -> list[CheckMessage]:
    """Check that each unit of each pool is either available or held, and that each held unit was
    granted.
    """
    if not databases or not _has_tables():
        return []
    hint = (
        "`manage.py audit_allocation` names the first event that cannot be, or the rows that "
        "differ from the ledger."
    )
    return [
        Error(sentence, hint=hint, id="allocation.E001") for sentence in missing_unit_sentences()
    ]


def _has_tables() -> bool:
    """Whether the tables exist. Before the first migration nothing can be checked."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('conservation') IS NOT NULL")
        return bool(cursor.fetchone()[0])
