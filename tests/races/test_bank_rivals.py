"""The results of two rivals at the bank, in either order."""

from __future__ import annotations

from threading import Barrier
from uuid import uuid4

import pytest
from django.db import connection, transaction

from allocation.models import Event, Grant, Pool, Process
from allocation.selectors import bank_view, outcome_of
from allocation.services import (
    ReleaseStatus,
    finish_process,
    reap_expired,
    register_process,
    release_resources,
    renew_lease,
    request_resources,
    take_lease,
)
from allocation.services.leases import _reap_pool
from tests.allocation.conftest import ask, available, held
from tests.allocation.services.test_leases import expire
from tests.races.conftest import row_held, until, until_waiting

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_process_that_two_register_at_once_is_one_process(make_pool, meanwhile, rival):
    pool = make_pool(4)
    facts = {"pool": pool.pk, "label": "p", "run_ref": "run/1/0", "maximum": {"a": 2}}

    with row_held(rival, "allocation_pool", pool.pk):
        both = [meanwhile(register_process, **facts) for _ in range(2)]
        until_waiting(2)

    first, second = (one.result() for one in both)
    assert first == second == Process.objects.get()
    finish_process(process=first.pk)
    assert register_process(**facts) != first


def test_same_request_sent_twice_at_once_is_granted_once(make_pool, make_process, meanwhile, rival):
    pool = make_pool(4)
    process, again = make_process(pool, "p", (4,)), uuid4()

    with row_held(rival, "allocation_pool", pool.pk):
        both = [
            meanwhile(request_resources, process=process.pk, amounts={"a": 2}, request_id=again)
            for _ in range(2)
        ]
        until_waiting(2)

    first, second = (one.result() for one in both)
    assert first == second
    assert (Grant.objects.count(), available(pool)) == (1, (2,))


def test_same_release_sent_twice_at_once_is_made_once(make_pool, make_process, meanwhile, rival):
    pool = make_pool(4)
    process, again = make_process(pool, "p", (4,), (4,)), uuid4()
    kwargs = {"process": process.pk, "epoch": 1, "release_id": again, "amounts": {"a": 1}}

    with row_held(rival, "allocation_pool", pool.pk):
        both = [meanwhile(release_resources, **kwargs) for _ in range(2)]
        until_waiting(2)

    assert {one.result().status for one in both} == {ReleaseStatus.RELEASED, ReleaseStatus.REPEATED}
    assert available(pool) == (1,)


def test_shift_is_taken_up_by_one_of_two_at_once(make_pool, make_process, meanwhile, rival):
    process = make_process(make_pool(4), "p", (4,), (2,))

    with row_held(rival, "allocation_process", process.pk):
        both = [
            meanwhile(take_lease, process=process.pk, epoch=1, worker=name)
            for name in ("one", "two")
        ]
        until_waiting(2)

    assert sorted(one.result() for one in both) == [False, True]


def test_renewal_that_comes_before_the_reapers_lock_wins(make_pool, make_process, meanwhile, rival):
    pool = make_pool(4)
    process = make_process(pool, "p", (4,), (2,))
    expire(process)

    with row_held(rival, "allocation_pool", pool.pk):
        reaper = meanwhile(reap_expired)
        until_waiting(1)
        assert renew_lease(process=process.pk, epoch=1)

    assert reaper.result() == []
    assert held(process) == (2,)


def test_renewal_that_comes_after_the_reapers_lock_loses(make_pool, make_process, meanwhile):
    pool = make_pool(4)
    process = make_process(pool, "p", (4,), (2,))
    expire(process)

    with transaction.atomic():
        [reaped] = _reap_pool.__wrapped__(pool.pk)
        late = meanwhile(renew_lease, process=process.pk, epoch=1)
        until_waiting(1)

    assert reaped.epoch == 1
    assert late.result() is False
    assert held(process) == (0,)


def test_release_and_a_new_wait_at_once_lose_no_wake_up(make_pool, make_process, meanwhile, rival):
    pool = make_pool(4)
    holder, waiter = make_process(pool, "holder", (4,), (4,)), make_process(pool, "waiter", (4,))

    with row_held(rival, "allocation_pool", pool.pk):
        asked = meanwhile(ask, process=waiter, amounts=(3,))
        until_waiting(1)
        released = meanwhile(
            release_resources, process=holder.pk, epoch=1, release_id=uuid4(), amounts=None
        )
        until_waiting(2)

    released.result()
    assert outcome_of(asked.result().request_id).granted


def test_two_rivals_of_the_textbook_deadlock_both_finish(make_pool, make_process, meanwhile):
    """Two classes of one unit; each rival takes one, then wants the other, holding the first."""
    pool = make_pool(1, 1)
    both_connected = Barrier(2)

    def granted(outcome):
        until(lambda: outcome_of(outcome.request_id), lambda now: now.granted)

    def cross(process, first, then):
        connection.ensure_connection()
        both_connected.wait()
        granted(ask(process, first))
        granted(ask(process, then, kind="stage", epoch=1))
        return release_resources(process=process.pk, epoch=1, release_id=uuid4(), amounts=None)

    p, q = (make_process(pool, label, (1, 1)) for label in "pq")
    rivals = [
        meanwhile(cross, process=p, first=(1, 0), then=(0, 1)),
        meanwhile(cross, process=q, first=(0, 1), then=(1, 0)),
    ]

    assert [one.result().status for one in rivals] == [ReleaseStatus.RELEASED] * 2
    assert available(pool) == (1, 1)


def test_grant_wakes_who_listens(make_pool, make_process, rival):
    process = make_process(pool := make_pool(4), "p", (4,))
    rival.execute("LISTEN bank")
    rival.commit()

    ask(process, (2,))

    [notification] = rival.notifies(timeout=10, stop_after=1)
    assert notification.payload == str(pool.pk)


def test_view_shows_one_moment_even_if_a_grant_comes_between_its_queries(
    make_pool, make_process, meanwhile
):
    pool = make_pool(4)
    process = make_process(pool, "p", (4,))
    granted = []

    def grant_after_the_pool_is_read(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if not granted and 'FROM "allocation_pool"' in sql:
            granted.append(
                meanwhile(ask, process=Process.objects.get(pk=process.pk), amounts=(3,)).result()
            )
        return result

    with connection.execute_wrapper(grant_after_the_pool_is_read):
        view = bank_view(pool.pk)

    assert granted
    assert granted[0].granted
    assert [row.allocation for row in view.processes] == [(0,)]
    assert (view.resources[0].available, available(pool)) == (4, (1,))


def test_nothing_is_lost_by_several_clients_at_once(make_pool, make_process, meanwhile):
    """AC7, small: four clients start, grow and end shifts in each other's way."""
    pool = make_pool(6, 6)

    def work(process):
        for turn in range(8):
            start = ask(process, (1, 1))
            epoch = until(
                lambda one=start: outcome_of(one.request_id), lambda now: now.granted
            ).epoch
            grown = ask(process, (2, 1), kind="growth", epoch=epoch)
            partial = {"a": 1} if grown.granted and turn % 2 else None
            release_resources(process=process.pk, epoch=epoch, release_id=uuid4(), amounts=partial)
            if partial:
                release_resources(process=process.pk, epoch=epoch, release_id=uuid4(), amounts=None)

    clients = [meanwhile(work, process=make_process(pool, f"p{i}", (3, 3))) for i in range(4)]

    for client in clients:
        client.result()
    assert available(pool) == (6, 6)
    assert Pool.objects.get().version == Event.objects.count()
