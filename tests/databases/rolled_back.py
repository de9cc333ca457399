"""Tests that roll back at their end, for requests and jobs that take their transactions for the
outermost: functions that they register for after the commit are called when their outermost
transaction ends, and a job that would close a shared connection does not close the one on which all
is rolled back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import Atomic, get_connection

exit_block = Atomic.__exit__
wait_for_commit = BaseDatabaseWrapper.on_commit
close = BaseDatabaseWrapper.close


def exit_and_run(block: Atomic, *error: Any) -> None:
    exit_block(block, *error)
    connection = get_connection(block.using)
    if is_in_the_tests_own(connection) and not connection.needs_rollback:
        hooks, connection.run_on_commit = connection.run_on_commit, []
        for _, hook, _ in hooks:
            hook()


def run_or_wait(
    connection: BaseDatabaseWrapper, hook: Callable[[], object], robust: bool = False
) -> None:
    if is_in_the_tests_own(connection):
        hook()
    else:
        wait_for_commit(connection, hook, robust)


def close_if_it_may(connection: BaseDatabaseWrapper) -> None:
    if not (connection.atomic_blocks and connection.atomic_blocks[0]._from_testcase):
        close(connection)


def is_in_the_tests_own(connection: BaseDatabaseWrapper) -> bool:
    """Whether the only open transaction is the one that the test itself will roll back."""
    blocks = connection.atomic_blocks
    return len(blocks) == 1 and blocks[0]._from_testcase
