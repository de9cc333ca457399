"""Steps two or three connections through a race: one halts at a statement, another is seen to wait
for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection

from tests.races.conftest import PATIENCE_SECONDS, until

POOL_LOCK = 'FROM "allocation_pool" WHERE id = '


class Halt:
    """Wraps a call so that it halts at its first statement that contains `sql`, and goes on when
    told to.
    """

    def __init__(self, work: Callable, sql: str, *, before: bool = False) -> None:
        self._work, self._sql, self._before = work, sql, before
        self._reached, self._told = threading.Event(), threading.Event()
        self.backend = 0

    def __call__(self, **kwargs: object) -> object:
        with connection.execute_wrapper(self._execute):
            return self._work(**kwargs)

    def until_reached(self) -> None:
        assert self._reached.wait(PATIENCE_SECONDS), f"no statement with {self._sql!r}"

    def go_on(self) -> None:
        self._told.set()

    def _execute(
        self, execute: Callable, sql: str, params: object, many: bool, context: dict
    ) -> object:
        is_here = self._sql in sql and not self._reached.is_set()
        if is_here and self._before:
            self._halt()
        result = execute(sql, params, many, context)
        if is_here and not self._before:
            self._halt()
        return result

    def _halt(self) -> None:
        self.backend = connection.connection.info.backend_pid
        self._reached.set()
        assert self._told.wait(PATIENCE_SECONDS)


@contextmanager
def halted(
    meanwhile: Callable, work: Callable, sql: str, *, before: bool = False, **kwargs: object
) -> Iterator[Halt]:
    """While the block runs, `work` halts at that statement in another thread; `.future` has its
    result afterwards.
    """
    halt = Halt(work, sql, before=before)
    halt.future = meanwhile(halt, **kwargs)
    halt.until_reached()
    try:
        yield halt
    finally:
        halt.go_on()


def until_somebody_waits_for(backend: int) -> int:
    """Return a backend that waits for this one, as soon as there is one."""

    def blocked() -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                "AND %s = ANY(pg_blocking_pids(pid))",
                [backend],
            )
            return [pid for (pid,) in cursor.fetchall()]

    return until(blocked, bool)[0]
