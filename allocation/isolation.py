"""Transactions beside others. Several tables are read as of one moment. Work that failed because of
other transactions, or because the connection broke, is repeated.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connection, transaction

#: SQLSTATEs of conflicts with other transactions, after which a repetition may succeed:
#: serialisation failure, deadlock, lock time-out
CONFLICTS = frozenset({"40001", "40P01", "55P03"})
#: SQLSTATEs of a server that is stopping or unreachable: `08` connection exceptions, `57P` an
#: operator's action or a crash, `25P03` the end of a transaction that was idle for too long
SERVER_GONE = ("08", "57P", "25P03")
T = TypeVar("T")


@contextmanager
def repeatable_read() -> Iterator[None]:
    """Let all queries see the same moment, since a grant between two statements could make a safe
    state look unsafe.

    Within a transaction of the caller, the isolation of that transaction applies.
    """
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


def retry_on_conflict(work: Callable[[], T], *, attempts: int, through_breaks: bool = False) -> T:
    """Do `work`, which is one transaction, and repeat it while other transactions conflict with it,
    up to `attempts` times in all. Within a transaction of the caller it is done once, since its
    failure ends that transaction.

    through_breaks: whether to repeat it after a break of the connection, too. The lost transaction
    may have been committed, so `work` must be idempotent.
    """
    for attempt in range(1, attempts + 1):
        try:
            return work()
        except (OperationalError, InternalError, InterfaceError) as error:
            is_broken = through_breaks and is_connection_lost(error)
            is_passing = is_broken or is_conflict(error)
            if attempt == attempts or connection.in_atomic_block or not is_passing:
                raise
            if is_broken:
                connection.close()
        pause = random.uniform(0.01, 0.05) * 2**attempt  # noqa: S311 - no secret
        # no event announces the end of the other transactions. No lock and no transaction is open
        # here. Two transactions that collided wait for different times, since they could collide
        # again
        time.sleep(pause)
    raise AssertionError("unreachable")


def is_conflict(error: BaseException | None) -> bool:
    """Whether the error is a conflict with other transactions, which end soon."""
    return sqlstate(error) in CONFLICTS


def is_connection_lost(error: BaseException | None) -> bool:
    """Whether the connection is broken, so that all uncommitted work is lost."""
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, OperationalError | InternalError):
        return False
    state = sqlstate(error)  # after a break of the connection there is no code of the server
    return state is None or state.startswith(SERVER_GONE)


def sqlstate(error: BaseException | None) -> str | None:
    """PostgreSQL's code for an error; None if the server could not be reached to give one."""
    cause = error.__cause__ if error else None
    return getattr(cause, "sqlstate", None)
