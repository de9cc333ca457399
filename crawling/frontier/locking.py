"""The lock that every write to a run's part of the frontier takes first."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import OperationalError, connection, transaction

from crawling.models import Run

#: whoever waits for a run's row for longer is told so
PATIENCE = "10s"
#: SQLSTATEs by which PostgreSQL says that others were in the way: serialisation failure, deadlock, lock time-out
IN_THE_WAY = frozenset({"40001", "40P01", "55P03"})
ATTEMPTS = 5

T = TypeVar("T")


@contextmanager
def locked_run(run_id: int) -> Iterator[Run]:
    """Hold the run's row until the block ends, which is one transaction; yields it as it stands under the lock."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            # A horse that stands still (SIGSTOP, a frozen machine) must not keep the run from all others for ever.
            cursor.execute(
                "SELECT set_config('lock_timeout', %s, true), set_config('idle_in_transaction_session_timeout', '5s', true)", [PATIENCE]
            )
        yield Run.objects.select_for_update(no_key=True).get(pk=run_id)


def insist(work: Callable[[], T]) -> T:
    """Do `work`, which is one transaction, again while others are in the way: five times in all, which is most of a minute."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return work()
        except OperationalError as error:
            if attempt == ATTEMPTS or connection.in_atomic_block or sqlstate(error) not in IN_THE_WAY:
                raise
        time.sleep(random.uniform(0.01, 0.05) * 2**attempt)  # noqa: S311  # no secret: rivals must not collide again
    raise AssertionError("unreachable")


def sqlstate(error: BaseException | None) -> str | None:
    """What PostgreSQL called an error; None: it was not there to call it anything."""
    cause = error.__cause__ if error else None
    return getattr(cause, "sqlstate", None)
