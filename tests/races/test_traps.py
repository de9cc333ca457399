"""PostgreSQL's treatment of sessions that lock and read, step by step: why the bank locks in one
statement and reads in the next.

The first half are negative controls: plain SQL that must go wrong, or the rule it supports would be
superstition. The locks of the product, and the test that goes red without each, are in
`tests/mutants/locks.py`.
"""

from __future__ import annotations

import time
from uuid import uuid4

import psycopg
import pytest
from django.db import connection

from allocation.models import Process
from allocation.services import (
    finish_process,
    reap_expired,
    release_resources,
    renew_lease,
    request_resources,
)
from tests.allocation.conftest import ask, available, held
from tests.allocation.services.test_leases import expire
from tests.races.conftest import row_held, until_waiting
from tests.races.steps import POOL_LOCK, halted, until_somebody_waits_for

pytestmark = pytest.mark.django_db(transaction=True)

JOIN = """SELECT p.allocated FROM allocation_pool b JOIN allocation_process p ON p.pool_id = b.id
          WHERE b.id = %(pool)s FOR NO KEY UPDATE OF b"""
CTE = """WITH locked AS (SELECT id FROM allocation_pool WHERE id = %(pool)s FOR NO KEY UPDATE)
         SELECT p.allocated FROM locked JOIN allocation_process p ON p.pool_id = locked.id"""
LOCK = "SELECT 1 FROM allocation_pool WHERE id = %(pool)s FOR NO KEY UPDATE"
ADVISORY = "SELECT pg_advisory_xact_lock(%(pool)s)"
REAPERS_LOOK = '"lease_until" < (clock_timestamp()) AND "allocation_process"."pool_id" = %s'
READ = "SELECT allocated FROM allocation_process WHERE pool_id = %(pool)s"


@pytest.fixture
def read_behind_a_grant(make_pool, make_process, meanwhile, rival):
    """Return a function: run statements in one transaction while a rival that holds the lock grants
    2 units; what they read last.
    """
    pool = make_pool(4)
    process = make_process(pool, "p", (4,))
    name = {"pool": pool.pk}

    def run(statements: list[str], isolation: str) -> object:
        params = connection.get_connection_params()
        with psycopg.connect(
            **{
                key: params[key]
                for key in ("dbname", "user", "password", "host", "port")
                if params.get(key)
            }
        ) as reader:
            reader.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
            return [reader.execute(statement, name) for statement in statements][-1].fetchall()[0][
                0
            ]

    def read(*statements: str, isolation: str = "read committed", lock: str = LOCK) -> object:
        rival.execute(lock, name)
        reader = meanwhile(run, statements=statements, isolation=isolation)
        until_somebody_waits_for(rival.info.backend_pid)
        rival.execute("UPDATE allocation_pool SET version = version + 1 WHERE id = %(pool)s", name)
        rival.execute("UPDATE allocation_process SET allocated = '{2}' WHERE id = %s", [process.pk])
        rival.commit()
        try:
            return reader.result()
        finally:
            rival.execute(
                "UPDATE allocation_process SET allocated = '{0}' WHERE id = %s", [process.pk]
            )
            rival.commit()

    return read


@pytest.mark.parametrize("statement", [JOIN, CTE])
def test_one_statement_that_locks_and_joins_reads_processes_as_they_were_before_the_wait(
    read_behind_a_grant, statement
):
    assert read_behind_a_grant(statement) == [0]


def test_next_statement_after_the_lock_reads_processes_as_they_are(read_behind_a_grant):
    assert read_behind_a_grant(LOCK, READ) == [2]


def test_repeatable_read_fails_at_the_row_lock(read_behind_a_grant):
    with pytest.raises(psycopg.errors.SerializationFailure):
        read_behind_a_grant(LOCK, READ, isolation="repeatable read")


def test_repeatable_read_behind_an_advisory_lock_reads_the_past_and_says_nothing(
    read_behind_a_grant,
):
    assert read_behind_a_grant(ADVISORY, READ, isolation="repeatable read", lock=ADVISORY) == [0]


def test_lock_timeout_ends_a_wait_at_its_time(make_pool, rival):
    pool = make_pool(1)

    with row_held(rival, "allocation_pool", pool.pk), connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '200ms'")
        began = time.monotonic()
        with pytest.raises(Exception, match="lock timeout"):
            cursor.execute(LOCK, {"pool": pool.pk})
        assert time.monotonic() - began >= 0.2
        cursor.execute("RESET lock_timeout")


def test_for_update_would_stop_rows_that_refer_to_the_pool_and_no_key_does_not(make_pool, rival):
    """Why every lock says NO KEY: a row that only names the pool need not wait for its
    decisions."""
    pool = make_pool(1)
    insert = (
        "INSERT INTO allocation_ledgercheckpoint (pool_id, version, state) "
        "VALUES (%s, nextval('allocation_request_order'), '{}')"
    )

    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
        with row_held(rival, "allocation_pool", pool.pk):
            cursor.execute(insert, [pool.pk])
        rival.execute("SELECT 1 FROM allocation_pool WHERE id = %s FOR UPDATE", [pool.pk])
        with pytest.raises(Exception, match="lock timeout"):
            cursor.execute(insert, [pool.pk])
        cursor.execute("RESET lock_timeout")
    rival.rollback()


def test_lease_of_a_grant_that_waited_for_the_lock_runs_from_the_grant(
    make_pool, make_process, meanwhile, rival, settings
):
    """`now()` would be the start of the transaction, and the time it waited would be missing."""
    settings.BANK_PICKUP_SECONDS = 100
    process = make_process(pool := make_pool(4), "p", (4,))

    with row_held(rival, "allocation_pool", pool.pk):
        late = meanwhile(ask, process=process, amounts=(1,))
        until_waiting(1)
        [freed_at] = rival.execute("SELECT clock_timestamp()").fetchone()

    assert late.result().granted
    assert (Process.objects.get(pk=process.pk).lease_until - freed_at).total_seconds() >= 100


def test_lease_of_a_grant_past_a_waiter_runs_from_the_grant(
    make_pool, make_process, meanwhile, rival, settings
):
    """There the services decide, in a transaction that began before the wait."""
    settings.BANK_PICKUP_SECONDS = 100
    pool = make_pool(5)
    make_process(pool, "holder", (1,), (1,))
    ask(make_process(pool, "waiter", (5,)), (5,))
    process = make_process(pool, "p", (4,))

    with row_held(rival, "allocation_pool", pool.pk):
        late = meanwhile(ask, process=process, amounts=(1,))
        until_waiting(1)
        [freed_at] = rival.execute("SELECT clock_timestamp()").fetchone()

    assert late.result().granted
    assert (Process.objects.get(pk=process.pk).lease_until - freed_at).total_seconds() >= 100


def start_of(process, amounts):
    return {"process": process.pk, "amounts": amounts, "request_id": uuid4()}


def end_of(process):
    return {"process": process.pk, "epoch": 1, "release_id": uuid4(), "amounts": None}


@pytest.mark.usefixtures("decided_by_the_services")
def test_release_that_begins_before_a_wait_is_committed_serves_it(
    make_pool, make_process, meanwhile
):
    """The waiter has written its row and holds the lock; the release has begun, and must look again
    after the lock.
    """
    pool = make_pool(4)
    holder, waiter = make_process(pool, "holder", (4,), (4,)), make_process(pool, "waiter", (4,))

    with halted(
        meanwhile,
        request_resources,
        'INSERT INTO "allocation_request"',
        **start_of(waiter, {"a": 3}),
    ) as asking:
        release = meanwhile(release_resources, **end_of(holder))
        until_somebody_waits_for(asking.backend)

    assert not asking.future.result().granted
    release.result()
    assert (held(waiter), available(pool)) == ((3,), (1,))


@pytest.mark.usefixtures("decided_by_the_services")
def test_wait_that_begins_before_a_release_is_committed_is_granted_by_itself(
    make_pool, make_process, meanwhile
):
    pool = make_pool(4)
    holder, waiter = make_process(pool, "holder", (4,), (4,)), make_process(pool, "waiter", (4,))

    with halted(
        meanwhile, release_resources, "allocation_write_release(", **end_of(holder)
    ) as releasing:
        asking = meanwhile(request_resources, **start_of(waiter, {"a": 3}))
        until_somebody_waits_for(releasing.backend)

    assert asking.result().granted
    assert available(pool) == (1,)


@pytest.mark.usefixtures("decided_by_the_services")
def test_waiter_that_has_not_locked_yet_when_a_release_begins_and_ends_is_granted_by_itself(
    make_pool, make_process, meanwhile
):
    pool = make_pool(4)
    holder, waiter = make_process(pool, "holder", (4,), (4,)), make_process(pool, "waiter", (4,))

    with halted(
        meanwhile, request_resources, POOL_LOCK, before=True, **start_of(waiter, {"a": 3})
    ) as asking:
        release_resources(**end_of(holder))

    assert asking.future.result().granted


def test_renewal_that_comes_between_the_reapers_look_and_its_write_loses(
    make_pool, make_process, meanwhile
):
    """Unless the reaper locks what it looks at, it would reap a shift that has just been told to go
    on.
    """
    process = make_process(make_pool(4), "p", (4,), (2,))
    expire(process)

    with halted(meanwhile, reap_expired, REAPERS_LOOK) as reaping:
        late = meanwhile(renew_lease, process=process.pk, epoch=1)
        until_somebody_waits_for(reaping.backend)

    assert [reaped.process for reaped in reaping.future.result()] == [process.pk]
    assert late.result() is False


def test_two_who_finish_at_once_serve_a_waiter_that_needs_what_both_held(
    make_pool, make_process, meanwhile
):
    pool = make_pool(4)
    first, second = (make_process(pool, label, (2,), (2,)) for label in "pq")
    waiting = ask(waiter := make_process(pool, "waiter", (4,)), (4,))

    with halted(
        meanwhile, finish_process, 'UPDATE "allocation_process"', process=first.pk
    ) as finishing:
        other = meanwhile(finish_process, process=second.pk)
        until_somebody_waits_for(finishing.backend)

    assert (finishing.future.result(), other.result()) == (True, True)
    assert not waiting.granted
    assert held(waiter) == (4,)
