"""The frame of every transaction in the bank: its isolation, its time limits, and when it is tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import OperationalError, connection, transaction

from allocation.errors import BankBusy, WrongIsolation

P = ParamSpec("P")
T = TypeVar("T")

#: SQLSTATEs after which the same work may well succeed: serialisation failure, deadlock, lock timeout
RETRYABLE = frozenset({"40001", "40P01", "55P03"})
ATTEMPTS = 3
LIMITS = {"lock_timeout": "2s", "statement_timeout": "5s", "idle_in_transaction_session_timeout": "5s"}


def bank_transaction(work: Callable[P, T]) -> Callable[P, T]:
    """Run `work` in a transaction of its own, again (three times in all) if others were in the way.

    The transaction is durable: no caller can hold the bank's lock longer than the work takes, or mix the bank's rows
    with others in one transaction. Raises BankBusy when the last attempt failed too.
    """

    @wraps(work)
    def in_transaction(*args: P.args, **kwargs: P.kwargs) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with transaction.atomic(durable=True):
                    _set_limits()
                    return work(*args, **kwargs)
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", None) not in RETRYABLE:
                    raise
                if attempt == ATTEMPTS:
                    raise BankBusy(attempts=ATTEMPTS) from error
            # Jitter, or two rivals that collided would collide again.
            time.sleep(random.uniform(0.01, 0.05) * 2**attempt)  # noqa: S311 - nothing secret depends on it
        raise AssertionError("unreachable")

    return in_transaction


def _set_limits() -> None:
    """Set the time limits for this transaction, and check that it reads what was committed before each statement."""
    settings = ", ".join("set_config(%s, %s, true)" for _ in LIMITS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT current_setting('transaction_isolation'), {settings}",
            [value for pair in LIMITS.items() for value in pair],
        )
        isolation = cursor.fetchone()[0]
    if isolation != "read committed":
        raise WrongIsolation(isolation=isolation)
