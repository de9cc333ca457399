"""Transactions beside others: several tables are read as of one moment, and what failed because
others were in the way, or because the connection broke, is tried again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connection, transaction

#: SQLSTATEs by which PostgreSQL says that others were in the way, so that the same work may well
#: succeed: serialisation failure, deadlock, lock time-out
IN_THE_WAY = frozenset({"40001", "40P01", "55P03"})
#: SQLSTATEs by which a server says that it goes or is not there: `08` connection exceptions, `57P`
#: an operator's or a crash's doing, `25P03` that a transaction stood still for too long
GOING = ("08", "57P", "25P03")
T = TypeVar("T")


@contextmanager
def repeatable_read() -> Iterator[None]:
    """Let all queries see the same moment: between two statements a grant could make a safe state
    look unsafe.

    Within a transaction of the caller's its isolation stands.
    """
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


def insist(work: Callable[[], T], *, attempts: int, through_breaks: bool = False) -> T:
    """Do `work`, which is one transaction, again while others are in the way: `attempts` times in
    all. Within a caller's transaction it is done once, since that one has failed with it.

    through_breaks: also if its connection breaks. It may have been committed at that moment, so
    `work` must do no harm when it is done twice.
    """
    for attempt in range(1, attempts + 1):
        try:
            return work()
        except (OperationalError, InternalError, InterfaceError) as error:
            is_broken = through_breaks and was_cut_off(error)
            is_passing = is_broken or was_in_the_way(error)
            if attempt == attempts or connection.in_atomic_block or not is_passing:
                raise
            if is_broken:
                connection.close()
        pause = random.uniform(0.01, 0.05) * 2**attempt  # noqa: S311 - no secret
        # nothing tells when the others are gone. No lock and no transaction is open here; two that
        # collided come back at different times, or they would collide again
        time.sleep(pause)
    raise AssertionError("unreachable")


def was_in_the_way(error: BaseException | None) -> bool:
    """Whether others were in the way, who will be gone in a moment."""
    return sqlstate(error) in IN_THE_WAY


def was_cut_off(error: BaseException | None) -> bool:
    """Whether the connection is gone, and what it had not committed with it."""
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, OperationalError | InternalError):
        return False
    state = sqlstate(error)  # a connection that broke has no server left to give one
    return state is None or state.startswith(GOING)


def sqlstate(error: BaseException | None) -> str | None:
    """PostgreSQL's code of an error; None if the server was not there to name it."""
    cause = error.__cause__ if error else None
    return getattr(cause, "sqlstate", None)
