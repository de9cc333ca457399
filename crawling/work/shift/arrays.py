"""How a shift's lists go to PostgreSQL: psycopg looks at each element by itself, an eighth of all
that a shift's own thread did.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from psycopg.abc import Buffer
from psycopg.types.array import ListDumper

NUMBERS = ({int}, {int, type(None)})
#: what an element may hold only if something is written before it, or not at all
SPECIAL = re.compile(r'["\\\0]')


class QuickListDumper(ListDumper):
    """Writes lists of numbers and of plain texts in one go, and leaves all others to
    psycopg."""

    def dump(self, obj: list[Any]) -> Buffer | None:
        return literal(obj) or super().dump(obj)


def literal(values: Sequence[Any]) -> bytes:
    """The array as PostgreSQL reads it; b"" for one that takes more care."""
    kinds = set(map(type, values))
    if kinds in NUMBERS:
        return f"{{{','.join(map(str, values))}}}".replace("None", "NULL").encode()
    if kinds == {float}:
        return f"{{{','.join(map(repr, values))}}}".encode()
    if kinds == {str} and not SPECIAL.search("".join(values)):
        return ('{"' + '","'.join(values) + '"}').encode()
    return b""


def send_all_lists_quickly() -> None:
    """Let all connections of this process write lists so, those that are open too."""
    connection_created.connect(send_lists_quickly)
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None:
            send_lists_quickly(connection)


def send_lists_quickly(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Let this connection, which was just made, write lists so; a receiver of
    `connection_created`."""
    connection.connection.adapters.register_dumper(list, QuickListDumper)
