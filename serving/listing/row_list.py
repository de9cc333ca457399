"""A list of rows of one table, by key: for pages, files, JSON and the command line. Pure: it makes
queries, and its callers run them.

Rows are sorted by a column, the largest first, and equal ones by their key; or only by their key. A
list continues after the last row of the previous page, so every page takes the same time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from serving.listing.columns import ListColumn, columns_of

Row = TypeVar("Row")
Values = Mapping[str, Any]
#: runs a query with its values and returns the rows
Ask = Callable[[str, Values], list[tuple[Any, ...]]]
#: the same, but the rows are returned one by one
EachRow = Callable[[str, Values], Iterator[tuple[Any, ...]]]

NO_CURSOR = "It is no `next` of a page before."
#: the number of digits that fit 64 bits
MOST_DIGITS = 18


class BadListRequest(ValueError):
    """A request for a list has mistakes; `errors` has a sentence for each field with one."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        self.errors = dict(errors)
        super().__init__("; ".join(f"{name}: {said}" for name, said in self.errors.items()))


@dataclass(frozen=True)
class ListFilter:
    name: str
    #: the condition of the query, with `$name` for the value
    condition: str
    #: the text for the description of the API
    meaning: str = ""
    #: the expression that the whole value must match; empty if any text is allowed
    pattern: str = ""
    #: the end of the sentence for a value that does not match: *must be …*
    example: str = ""
    #: the allowed values, in place of a pattern; the first means no filter
    choices: tuple[str, ...] = ()
    #: the help on the command line; empty to use `meaning`
    words: str = ""

    @property
    def option(self) -> str:
        """The name of the filter's option on the command line."""
        return "--text" if self.name == "q" else f"--{self.name}"

    def read(self, text: str) -> str:
        """Raises BadListRequest."""
        fits = text in self.choices if self.choices else re.fullmatch(self.pattern or ".*", text)
        if text and not fits:
            raise BadListRequest(
                {self.name: f"must be {self.example or ' or '.join(self.choices)}"}
            )
        return text or (self.choices[0] if self.choices else "")


@dataclass(frozen=True)
class RowList(Generic[Row]):
    """Rows of a table of DuckDB. Columns that can be sorted by are numbers; files have no order; a
    filter that may be missing has a pattern, not choices.
    """

    #: a frozen data class whose fields are the columns of the table
    row: type[Row]
    table: str
    key: str
    #: the columns on pages, in their order
    shown: tuple[str, ...]
    filters: tuple[ListFilter, ...] = ()
    #: the default sort column; empty to sort only by the key
    first_sort: str = ""
    #: adds to the rows of a page the values that the table does not have, which are None until then
    complete: Callable[[list[Row]], list[Row]] = list

    @property
    def columns(self) -> dict[str, ListColumn]:
        return columns_of(self.row)  # type: ignore[arg-type]  # a class is hashable

    @property
    def goes_by_number(self) -> bool:
        """Whether the list's cursor is the number of a row."""
        return not self.first_sort and self.columns[self.key].is_number

    @property
    def sorts(self) -> tuple[str, ...]:
        """The columns by which the list may be sorted, the usual one first."""
        others = (one.name for one in self.columns.values() if one.told.sorts)
        return (self.first_sort, *(name for name in others if name != self.first_sort))

    @property
    def stored(self) -> list[str]:
        """The columns that the table has, which are those of files."""
        return [one.name for one in self.columns.values() if one.told.is_stored]

    def page(
        self, ask: Ask, wanted: Mapping[str, str], *, sort: str = "", after: str = "", most: int
    ) -> tuple[list[Row], str | None]:
        """The rows of a page, and the cursor after which more follow. Raises BadListRequest."""
        sort = sort or self.first_sort
        conditions, values = self._narrowed(wanted)
        if after:
            behind, ends = self._rows_after(sort, after)
            conditions, values = [*conditions, behind], values | ends
        order = f"{sort} DESC, {self.key}" if sort else self.key
        query = f"{self._select(conditions)} ORDER BY {order} LIMIT $most"
        names, added = self.stored, dict.fromkeys(set(self.columns) - set(self.stored))
        rows = ask(query, values | {"most": most + 1})
        found = [self.row(**dict(zip(names, cells, strict=True)), **added) for cells in rows]
        following = self._cursor(found[most - 1], sort) if len(found) > most else None
        return self.complete(found[:most]), following

    def each(self, each: EachRow, wanted: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """All wanted rows of the table. Raises BadListRequest."""
        conditions, values = self._narrowed(wanted)
        names = self.stored
        return (
            dict(zip(names, row, strict=True)) for row in each(self._select(conditions), values)
        )

    def _select(self, conditions: list[str]) -> str:
        # the names are constants; the texts that users send are in the values
        columns, where = ", ".join(self.stored), " AND ".join(conditions)
        return f"SELECT {columns} FROM {self.table} WHERE {where}"  # noqa: S608

    def _narrowed(self, wanted: Mapping[str, str]) -> tuple[list[str], dict[str, Any]]:
        conditions, values = ["true"], dict[str, Any]()
        for one in self.filters:
            if value := one.read(wanted.get(one.name, "")):
                conditions.append(one.condition)
                values[one.name] = value
        return conditions, values

    def _cursor(self, row: Row, sort: str) -> str:
        key = getattr(row, self.key)
        return f"{getattr(row, sort)!r}_{key}" if sort else str(key)

    def _rows_after(self, sort: str, after: str) -> tuple[str, dict[str, Any]]:
        value, _, key = after.partition("_") if sort else ("0", "", after)
        try:
            number = float(value)
        except ValueError as error:
            raise BadListRequest({"cursor": NO_CURSOR}) from error
        is_number = self.columns[self.key].is_number
        if is_number and not (key.isascii() and key.isdigit() and len(key) <= MOST_DIGITS):
            raise BadListRequest({"cursor": NO_CURSOR})
        ends: dict[str, Any] = {"key": int(key) if is_number else key}
        if not sort:
            return f"{self.key} > $key", ends
        behind = f"({sort} < $value OR ({sort} = $value AND {self.key} > $key))"
        return behind, ends | {"value": number}
