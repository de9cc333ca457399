"""Sessions of PostgreSQL, for what lasts longer than a transaction: locks and notifications.

A pooler before PostgreSQL may give each transaction another session. These connections go past it
(DATABASE_DIRECT_URL).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection


def open_session() -> psycopg.Connection:
    """A new connection with a session of its own, which the caller closes.

    Raises psycopg.OperationalError without a database.
    """
    parameters = settings.DATABASE_SESSIONS or connection.get_connection_params()
    return psycopg.connect(**parameters, autocommit=True)


@contextmanager
def session_lock(
    key: str, values: Sequence[object], *, is_shared: bool = False, waits: bool = True
) -> Iterator[bool]:
    """Hold an advisory lock until the block ends. Yield whether it is held: always, if it waits.
    PostgreSQL releases the lock when the process dies.

    key: one or two numbers in SQL, with a placeholder for each of the values.
    """
    kind = "_shared" if is_shared else ""
    take = f"SELECT pg_{'' if waits else 'try_'}advisory_lock{kind}({key})"
    with _cursors() as cursor_of_session:
        with cursor_of_session() as cursor:
            cursor.execute(take, values)
            is_held = waits or cursor.fetchone()[0]
        try:
            yield is_held
        finally:
            if is_held:
                with cursor_of_session() as cursor:
                    cursor.execute(f"SELECT pg_advisory_unlock{kind}({key})", values)


@contextmanager
def _cursors() -> Iterator[Callable[[], AbstractContextManager[Any]]]:
    """A function that makes cursors of one session until the block ends: of the usual connection,
    unless a pooler stands before it.
    """
    if not settings.DATABASE_SESSIONS:
        yield connection.cursor
        return
    with connection.wrap_database_errors:
        session = open_session()
    with session:
        yield session.cursor
