"""The frame of every transaction of a pool: its isolation, its time limits, and the conditions for
trying it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, connections, transaction
from django.db.backends.utils import CursorWrapper
from psycopg import Cursor

from allocation.errors import BankBusy, WrongIsolation
from allocation.isolation import is_conflict, retry_on_conflict

P = ParamSpec("P")
T = TypeVar("T")

ATTEMPTS = 3
LIMITS = {
    "lock_timeout": "2s",
    "statement_timeout": "5s",
    "idle_in_transaction_session_timeout": "5s",
}


def bank_transaction(work: Callable[P, T]) -> Callable[P, T]:
    """Run `work` in its own transaction, up to three times if other transactions conflict with it.

    The transaction is durable, so no caller can hold the pool's lock longer than the work takes,
    nor change other rows in the same transaction. Raises BankBusy when the last attempt failed too.
    """

    @wraps(work)
    def work_in_transaction(*args: P.args, **kwargs: P.kwargs) -> T:
        def attempt() -> T:
            with transaction.atomic(durable=True):
                _set_limits()
                return work(*args, **kwargs)

        return _retry_while_busy(attempt)

    return work_in_transaction


def call_server(call: str, *arguments: Any) -> Sequence[Any]:
    """Let a function of the server decide and write, in its own transaction and one round trip.
    Return its row.

    call: the text after `SELECT * FROM`. The function's first argument, the longest wait for a
    lock, is added here. The function waits for nothing else, so the other limits are not needed.
    """

    def attempt() -> Sequence[Any]:
        # a single statement is a transaction by itself. Within a transaction of the caller the lock
        # would be held longer, so that is refused as in `bank_transaction`
        with transaction.atomic(durable=True) if connection.in_atomic_block else nullcontext():
            return call_in_transaction(call, LIMITS["lock_timeout"], *arguments)

    return _retry_while_busy(attempt)


def call_in_transaction(call: str, *arguments: Any) -> Sequence[Any]:
    """Let a function of the server write within the caller's transaction. Return its row."""
    with planned_cursor() as cursor:
        cursor.execute(f"SELECT * FROM {call}", arguments)  # noqa: S608 - calls of ours
        row: Sequence[Any] = cursor.fetchone()
        return row


def planned_cursor() -> CursorWrapper:
    """A cursor that binds its values in the server, which then parses and plans each statement once
    for each connection.

    Django's own cursor puts the values into the text, so that every statement is new: this takes a
    sixth of the time of a grant, and a third of a search.
    """
    server = connections[DEFAULT_DB_ALIAS]  # `connection` would look this up at each use
    server.ensure_connection()
    wrapped = server.make_debug_cursor if server.queries_logged else server.make_cursor
    return wrapped(Cursor(server.connection))  # type: ignore[arg-type]  # the stubs know no others


@contextmanager
def pipelined_statements() -> Iterator[None]:
    """Send the statements of the block together. Their results can be fetched after the block.

    As always, each statement begins after the previous one, and sees everything that was committed
    by then. They are sent together because an idle machine takes longer to wake up than to run one
    of them.
    """
    server = connections[DEFAULT_DB_ALIAS]
    server.ensure_connection()
    with server.wrap_database_errors, server.connection.pipeline():
        yield


def _retry_while_busy(attempt: Callable[[], T]) -> T:
    try:
        return retry_on_conflict(attempt, attempts=ATTEMPTS)
    except OperationalError as error:
        if is_conflict(error):
            raise BankBusy(attempts=ATTEMPTS) from error
        raise


def _set_limits() -> None:
    """Set the time limits for this transaction, and check that each statement in it sees everything
    committed before it.
    """
    settings = ", ".join("set_config(%s, %s, true)" for _ in LIMITS)
    with planned_cursor() as cursor:
        with pipelined_statements():  # together with the transaction's BEGIN
            cursor.execute(
                f"SELECT current_setting('transaction_isolation'), {settings}",
                [value for pair in LIMITS.items() for value in pair],
            )
        isolation = cursor.fetchone()[0]
    if isolation != "read committed":
        raise WrongIsolation(isolation=isolation)
