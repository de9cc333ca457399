"""Rows of values in a statement, sent as an array for each field, and rows of its result."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from itertools import starmap
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from django.db.backends.utils import CursorWrapper

#: the server casts a number to the smaller kind of a column where it is assigned
POSTGRES_TYPES = {
    int: "bigint",
    float: "float8",
    str: "text",
    bool: "bool",
    bytes: "bytea",
    datetime: "timestamptz",
}

Row = TypeVar("Row", bound=tuple[Any, ...])
Found = TypeVar("Found")


class SentRows(Generic[Row]):
    """Rows that stand in a statement under a name: `FROM {NEW_URLS}`, where NEW_URLS is one of
    these with the name `new`, has a column `new.url` for the field `url` of its named tuple.
    """

    def __init__(self, name: str, row: type[Row]) -> None:
        kinds = {field: _type(hint) for field, hint in get_type_hints(row).items()}
        self._name, self._fields = name, tuple(kinds)
        arrays = (f"%({name}.{field})s::{kind}[]" for field, kind in kinds.items())
        self._arrays = f"unnest({', '.join(arrays)})"
        #: the columns, as INSERT names them
        self.names = ", ".join(kinds)
        #: the columns, as SELECT names them
        self.columns = ", ".join(f"{name}.{field}" for field in kinds)

    def __str__(self) -> str:
        return f"{self._arrays} AS {self._name}({self.names})"

    @property
    def in_order(self) -> str:
        """The rows with a column `place`, to order by."""
        return f"{self._arrays} WITH ORDINALITY AS {self._name}({self.names}, place)"

    def values(self, rows: Iterable[Row], **others: Any) -> dict[str, Any]:
        """The parameters of the statement: the rows, and its other values by name."""
        columns = list(zip(*rows, strict=True)) or [()] * len(self._fields)
        arrays = {
            f"{self._name}.{field}": list(column)
            for field, column in zip(self._fields, columns, strict=True)
        }
        return {**others, **arrays}


def _type(hint: Any) -> str:
    """The type of a hint, of `int | None` that of `int`."""
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
    (kind,) = kinds
    return POSTGRES_TYPES[kind]


def read_rows(cursor: CursorWrapper, row: type[Found]) -> list[Found]:
    """The rows of a result, whose columns have the names of the fields of a named tuple or a data
    class, in their order.
    """
    names = tuple(column.name for column in cursor.description or ())
    fields = vars(row)["__match_args__"]
    if names != fields:
        raise TypeError(f"The statement returns {names}, and {row.__name__} has {fields}.")
    if issubclass(row, tuple):  # half as long as by its own __new__, which is Python
        return list(map(partial(tuple.__new__, row), cursor.fetchall()))
    return list(starmap(row, cursor.fetchall()))
