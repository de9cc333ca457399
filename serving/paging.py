"""Lists by pages: one row more than a page has shows whether there is a next page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.utils.functional import cached_property

M = TypeVar("M", bound=Model)
T = TypeVar("T")
K = TypeVar("K")


def rows_and_next(found: QuerySet[M], limit: int) -> tuple[list[M], int | None]:
    """The rows, up to `limit`, in one query, and the id after which the next page begins, if
    any.
    """
    return cut_to_limit(list(found[: limit + 1]), limit, lambda row: int(row.pk))


def cut_to_limit(rows: list[T], limit: int, key: Callable[[T], K]) -> tuple[list[T], K | None]:
    """The first `limit` of up to `limit + 1` rows, and the key of the last of them if there are
    more.
    """
    return rows[:limit], key(rows[limit - 1]) if len(rows) > limit else None


#: the most rows of a numbered list that are counted, since each count reads its rows
MOST_NUMBERED = 10_000


class BoundedCount(int):
    """A count that was stopped at its limit; it is shown with a plus."""

    def __str__(self) -> str:
        return f"{self:,}"

    def __format__(self, how: str) -> str:
        return f"{int(self):{how}}+"


def bounded_count(rows: QuerySet[M]) -> int:
    """The number of rows; a BoundedCount if there are more than MOST_NUMBERED."""
    return as_bounded(rows.order_by()[: MOST_NUMBERED + 1].count())


def as_bounded(counted: int) -> int:
    """The count, as a BoundedCount if it was broken off at MOST_NUMBERED + 1."""
    return counted if counted <= MOST_NUMBERED else BoundedCount(MOST_NUMBERED)


class BoundedPaginator(Paginator):
    """Numbers the pages of the first MOST_NUMBERED rows; later rows are found by a filter."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        assert isinstance(rows, QuerySet)
        return bounded_count(rows)
