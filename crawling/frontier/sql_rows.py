"""Rows of values on their way to and from PostgreSQL: an array for each field in a statement, COPY
for very many rows, and the rows of a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import starmap
from types import NoneType
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints

from django.db import connection, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.backends.utils import CursorWrapper
from psycopg.abc import Buffer
from psycopg.types.array import ListDumper

from crawling.web.addresses import dns_name

#: PostgreSQL casts an assigned number to the smaller type of a column
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
    """Rows that a statement reads under a name: `FROM {NEW_URLS}`, where NEW_URLS is a SentRows
    with the name `new`, has a column `new.url` for the field `url` of its named tuple.
    """

    def __init__(self, name: str, row: type[Row]) -> None:
        kinds = {field: _postgres_type(hint) for field, hint in get_type_hints(row).items()}
        self._name, self._fields = name, tuple(kinds)
        arrays = (f"%({name}.{field})s::{kind}[]" for field, kind in kinds.items())
        self._arrays = f"unnest({', '.join(arrays)})"
        #: the columns, for INSERT
        self.names = ", ".join(kinds)
        #: the columns, for SELECT
        self.columns = ", ".join(f"{name}.{field}" for field in kinds)

    def __str__(self) -> str:
        return f"{self._arrays} AS {self._name}({self.names})"

    @property
    def numbered_rows(self) -> str:
        """The rows with a further column `place`, by which they can be sorted."""
        return f"{self._arrays} WITH ORDINALITY AS {self._name}({self.names}, place)"

    def values(self, rows: Iterable[Row], **others: Any) -> dict[str, Any]:
        """The parameters of the statement: the rows, and further values by name."""
        columns = list(zip(*rows, strict=True)) or [()] * len(self._fields)
        arrays = {
            f"{self._name}.{field}": list(column)
            for field, column in zip(self._fields, columns, strict=True)
        }
        return {**others, **arrays}


def _postgres_type(hint: Any) -> str:
    """The PostgreSQL type of a type hint. `int | None` has the type of `int`."""
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
    (kind,) = kinds
    return POSTGRES_TYPES[kind]


def read_rows(cursor: CursorWrapper, row: type[Found]) -> list[Found]:
    """The rows of a result. Its columns have the names of the fields of a named tuple or a data
    class, in the same order.
    """
    names = tuple(column.name for column in cursor.description or ())
    fields = vars(row)["__match_args__"]
    if names != fields:
        raise TypeError(f"The statement returns {names}, and {row.__name__} has {fields}.")
    # twice as fast as the tuple's own __new__, which is written in Python
    if issubclass(row, tuple):
        return list(map(partial(tuple.__new__, row), cursor.fetchall()))
    return list(starmap(row, cursor.fetchall()))


NUMBERS = ({int}, {int, type(None)})
#: characters that must be escaped in an element, or cannot be in one
SPECIAL = re.compile(r'["\\\0]')


class QuickListDumper(ListDumper):
    """Writes lists of numbers and of plain texts directly, and leaves all others to psycopg."""

    def dump(self, obj: list[Any]) -> Buffer | None:
        return array_literal(obj) or super().dump(obj)


def array_literal(values: Sequence[Any]) -> bytes:
    """The array as PostgreSQL reads it; b"" for a list that psycopg must write."""
    kinds = set(map(type, values))
    if kinds in NUMBERS:
        return f"{{{','.join(map(str, values))}}}".replace("None", "NULL").encode()
    if kinds == {float}:
        return f"{{{','.join(map(repr, values))}}}".encode()
    if kinds == {str} and not SPECIAL.search("".join(values)):
        return ('{"' + '","'.join(values) + '"}').encode()
    return b""


def use_quick_lists() -> None:
    """Use this dumper in all connections of this process, including open ones."""
    connection_created.connect(use_quick_lists_on)
    for opened in connections.all(initialized_only=True):
        if opened.connection is not None:
            use_quick_lists_on(opened)


def use_quick_lists_on(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Use the dumper in this new connection; a receiver of `connection_created`."""
    connection.connection.adapters.register_dumper(list, QuickListDumper)


def insert_rows(model: type[models.Model], rows: Sequence[Mapping[str, object]]) -> None:
    """Insert the rows, all with the same columns in the same order. Without rows there is no query.

    Values are sent unchanged: the model's defaults are not applied, and texts must not contain NUL.
    Raises the errors of an INSERT.
    """
    if not rows:
        return
    name = connection.ops.quote_name
    statement = f"COPY {name(model._meta.db_table)} ({', '.join(map(name, rows[0]))}) FROM STDIN"
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.cursor.copy(statement) as copy,
    ):
        for row in rows:
            copy.write_row(tuple(row.values()))


class NewHost(NamedTuple):
    name: str
    dns_name: str

    @classmethod
    def from_name(cls, name: str) -> NewHost:
        return cls(name, dns_name(name))


NEW_HOSTS = SentRows("new", NewHost)
ADD_HOSTS = f"""
INSERT INTO crawling_host ({NEW_HOSTS.names}) SELECT {NEW_HOSTS.columns} FROM {NEW_HOSTS}
ON CONFLICT (name) DO NOTHING
"""  # noqa: S608  # constants


def add_hosts(cursor: CursorWrapper, names: Sequence[str]) -> None:
    """Add the hosts that are new.

    Pass the names sorted, so that two transactions never wait for each other.
    """
    cursor.execute(ADD_HOSTS, NEW_HOSTS.values(map(NewHost.from_name, names)))
