"""Many ids in a query."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models.expressions import RawSQL


def ids_as_parameter(ids: Iterable[int]) -> RawSQL:
    """The ids for a lookup with `__in`, as one parameter. Thousands of parameters take longer to
    write and to parse than the rows to find.
    """
    return RawSQL("SELECT unnest(%s::bigint[])", [list(set(ids))])
