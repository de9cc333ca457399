"""Other connections that compete with the test's, and a way to see that one waits for another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection

from tests.allocation.conftest import make_pool, make_process, nothing_is_lost
from tests.mutants.faults import NEVER_QUICK
from tests.mutants.planting import planted

__all__ = ["make_pool", "make_process", "nothing_is_lost"]

PATIENCE_SECONDS = 60


@pytest.fixture
def rival(transactional_db) -> Iterator[psycopg.Connection]:
    """A plain connection to the same database; it commits only if the test says so."""
    params = connection.get_connection_params()
    with psycopg.connect(
        **{
            key: params[key]
            for key in ("dbname", "user", "password", "host", "port")
            if params.get(key)
        }
    ) as other:
        yield other
        other.rollback()


@pytest.fixture
def meanwhile(transactional_db) -> Iterator[Callable[..., Future]]:
    """meanwhile(f, x=1) runs f(x=1) in a thread with a connection of its own, and returns its
    future.
    """

    def run(work: Callable, kwargs: dict) -> object:
        try:
            return work(**kwargs)
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=8) as threads:
        yield lambda work, **kwargs: threads.submit(run, work, kwargs)


@pytest.fixture
def decided_by_the_services() -> Iterator[None]:
    """Let the services decide step by step: the server's own decisions are one statement, in which
    a test cannot halt.
    """
    with planted(NEVER_QUICK):
        yield


@contextmanager
def row_held(rival: psycopg.Connection, table: str, pk: int) -> Iterator[None]:
    """Hold the lock of one row in the rival's transaction."""
    rival.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR NO KEY UPDATE", [pk])
    try:
        yield
    finally:
        rival.rollback()


def until_waiting(count: int) -> list[int]:
    """Return the backends of this database that wait for a lock, once there are `count` of them."""

    def waiting() -> list[int]:
        with connection.cursor() as cursor:
            # A transaction keeps its first snapshot of the activity until it is told to read again.
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                "AND wait_event_type = 'Lock'"
            )
            return [pid for (pid,) in cursor.fetchall()]

    return until(waiting, lambda pids: len(pids) == count)


def until(look: Callable, is_there: Callable) -> object:
    """Call `look` again and again until its result satisfies `is_there`; fail after a while."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_there(seen := look()):
        assert time.monotonic() < end, f"still {seen} after {PATIENCE_SECONDS} s"
        time.sleep(0.005)
    return seen
