"""Lists that are read from records of a model, or by a function of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from django.db.models import Model, QuerySet

from serving.listing.columns import row_of
from serving.listing.row_list import ListFilter
from serving.paging import cut_to_limit

Row = TypeVar("Row")
M = TypeVar("M", bound=Model)
#: the caller has already filtered and sorted a source
NO_FILTERS: tuple[ListFilter, ...] = ()


def records_of(
    found: QuerySet[M],
    *,
    key: str = "pk",
    is_oldest_first: bool = False,
    after: str = "",
    most: int,
) -> tuple[list[M], Any]:
    """The records after a key, the latest first, and the key after which more follow."""
    behind, order = ("gt", "") if is_oldest_first else ("lt", "-")
    found = found.filter(**{f"{key}__{behind}": after}) if after else found
    records = list(found.order_by(f"{order}{key}")[: most + 1])
    return cut_to_limit(records, most, lambda record: getattr(record, key))


@dataclass(frozen=True)
class QueryList(Generic[Row]):
    """Records of a model by a key, the latest first: a page is one query, and a record that is
    added while a user reads does not move any to another page.
    """

    row: type[Row]
    #: a field whose value no two records share
    key: str = "pk"
    goes_by_number: bool = True
    is_oldest_first: bool = False
    #: makes the rows from records; None to use their attributes
    read: Callable[[list[Any]], Iterable[Row]] | None = None
    filters: ClassVar = NO_FILTERS
    first_sort: ClassVar = ""
    sorts: ClassVar = ("",)

    def page(
        self,
        source: QuerySet[M],
        wanted: Mapping[str, str] | None = None,
        *,
        sort: str = "",
        after: str = "",
        most: int,
    ) -> tuple[list[Row], Any]:
        """The rows of a page, and the key after which more follow."""
        records, following = records_of(
            source, key=self.key, is_oldest_first=self.is_oldest_first, after=after, most=most
        )
        read = self.read or partial(map, partial(row_of, self.row))
        return list(read(records)), following

    def each(self, source: QuerySet[M], *, chunk: int = 1_000) -> Iterator[dict[str, Any]]:
        """All rows, read page by page, so that a slow client keeps neither a transaction nor a
        cursor open.
        """
        after: Any = ""
        while after is not None:
            rows, after = self.page(source, after=str(after), most=chunk)
            yield from map(asdict, rows)  # type: ignore[arg-type]  # rows are data classes


@dataclass(frozen=True)
class FoundList(Generic[Row]):
    """Rows that a function finds; its arguments are the key to continue `after` and the greatest
    number of rows, `most`.
    """

    row: type[Row]
    goes_by_number: bool = False
    filters: ClassVar = NO_FILTERS
    first_sort: ClassVar = ""
    sorts: ClassVar = ("",)

    def page(
        self,
        source: Callable[..., tuple[list[Row], Any]],
        wanted: Mapping[str, str] | None = None,
        *,
        sort: str = "",
        after: str = "",
        most: int,
    ) -> tuple[list[Row], Any]:
        """The rows of a page, and the key after which more follow. Raises the errors of
        `source`.
        """
        if not after:
            return source(most=most)
        return source(after=int(after) if self.goes_by_number else after, most=most)
