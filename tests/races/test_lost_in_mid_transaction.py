"""AC8: a client is gone at each step of a transaction.

It took place wholly or not at all, and asking again finds out which.
"""

from __future__ import annotations

from contextlib import suppress
from uuid import uuid4

import pytest
from django.db import OperationalError, connection

from allocation.models import Event, Grant, Outbox, Release, Request
from allocation.services import (
    ReleaseStatus,
    reap_expired,
    release_resources,
    request_resources,
    unsent_outbox,
)
from tests.allocation.conftest import ask, available, held
from tests.allocation.services.test_leases import expire
from tests.races.conftest import until
from tests.races.steps import POOL_LOCK, halted

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("decided_by_the_services"),
]

REQUEST_STEPS = {
    "before the lock": (POOL_LOCK, True),
    "after the lock": (POOL_LOCK, False),
    "after the decision": ("allocation_write_grant(", True),
    "before the commit": ("allocation_write_grant(", False),
}
RELEASE_STEPS = {
    "before the lock": (POOL_LOCK, True),
    "after the lock": (POOL_LOCK, False),
    "before the write": ("allocation_write_release(", True),
    "before the commit": ("allocation_write_release(", False),
}
#: with a waiter for what comes back
STEPS_TO_A_WAITER = {
    "after the units are back": ("allocation_write_release(", False),
    "before the commit": ("allocation_write_grant(", False),
}


def lose(meanwhile, step, work, **kwargs):
    """Run the work up to a step, end its connection there, and wait until the server has
    noticed."""
    sql, before = step
    with (
        halted(meanwhile, work, sql, before=before, **kwargs) as lost,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT pg_terminate_backend(%s)", [lost.backend])
        until(lambda: is_there(lost.backend), lambda there: not there)
    with suppress(OperationalError):
        lost.future.result()


def is_there(backend):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [backend])
        return cursor.fetchone() is not None


@pytest.mark.parametrize("step", REQUEST_STEPS.values(), ids=REQUEST_STEPS)
def test_request_of_a_client_that_is_lost_leaves_no_half_grant_and_can_be_sent_again(
    make_pool, make_process, meanwhile, step
):
    pool = make_pool(4)
    process = make_process(pool, "p", (4,))
    before = Event.objects.count()
    request = {"process": process.pk, "amounts": {"a": 3}, "request_id": uuid4()}

    lose(meanwhile, step, request_resources, **request)

    assert (
        Request.objects.count(),
        Grant.objects.count(),
        Outbox.objects.count(),
        Event.objects.count(),
    ) == (0, 0, 0, before)
    assert (held(process), available(pool)) == ((0,), (4,))
    assert request_resources(**request).granted
    assert (Grant.objects.count(), held(process), available(pool)) == (1, (3,), (1,))


@pytest.mark.parametrize("step", REQUEST_STEPS.values(), ids=REQUEST_STEPS)
def test_request_past_a_waiter_of_a_client_that_is_lost_leaves_no_half_grant(
    make_pool, make_process, meanwhile, step
):
    pool = make_pool(5)
    make_process(pool, "holder", (1,), (1,))
    ask(make_process(pool, "waiter", (5,)), (5,))
    process = make_process(pool, "p", (4,))
    before, request = (
        Event.objects.count(),
        {"process": process.pk, "amounts": {"a": 3}, "request_id": uuid4()},
    )

    lose(meanwhile, step, request_resources, **request)

    assert (Event.objects.count(), held(process), available(pool)) == (before, (0,), (4,))
    assert request_resources(**request).granted
    assert (held(process), available(pool)) == ((3,), (1,))


def test_request_whose_reply_is_lost_after_the_commit_is_told_by_the_outbox_or_reaped(
    make_pool, make_process
):
    """After the commit, before any wake-up: the message is there, and without it the lease of the
    pick-up runs out.
    """
    pool = make_pool(4)
    process, request_id = make_process(pool, "p", (4,)), uuid4()
    request_resources(process=process.pk, amounts={"a": 3}, request_id=request_id)

    again = request_resources(process=process.pk, amounts={"a": 3}, request_id=request_id)

    assert (again.granted, Grant.objects.count(), available(pool)) == (True, 1, (1,))
    assert [(message.process, message.epoch) for message in unsent_outbox()] == [(process.pk, 1)]
    expire(process)
    assert [reaped.process for reaped in reap_expired()] == [process.pk]
    assert available(pool) == (4,)


@pytest.mark.parametrize("step", RELEASE_STEPS.values(), ids=RELEASE_STEPS)
def test_release_of_a_client_that_is_lost_can_be_sent_again(
    make_pool, make_process, meanwhile, step
):
    pool = make_pool(4)
    process = make_process(pool, "p", (4,), (3,))
    release = {"process": process.pk, "epoch": 1, "release_id": uuid4(), "amounts": None}

    lose(meanwhile, step, release_resources, **release)

    assert (Release.objects.count(), held(process), available(pool)) == (0, (3,), (1,))
    assert release_resources(**release).status is ReleaseStatus.RELEASED
    assert release_resources(**release).status is ReleaseStatus.REPEATED
    assert available(pool) == (4,)


@pytest.mark.parametrize("step", STEPS_TO_A_WAITER.values(), ids=STEPS_TO_A_WAITER)
def test_release_that_serves_a_waiter_of_a_client_that_is_lost_does_neither(
    make_pool, make_process, meanwhile, step
):
    pool = make_pool(5)
    holder, waiter = make_process(pool, "holder", (4,), (4,)), make_process(pool, "waiter", (4,))
    waits = ask(waiter, (4,))
    before = Event.objects.count()
    release = {"process": holder.pk, "epoch": 1, "release_id": uuid4(), "amounts": None}

    lose(meanwhile, step, release_resources, **release)

    assert (Event.objects.count(), Release.objects.count()) == (before, 0)
    assert (held(holder), held(waiter), available(pool)) == ((4,), (0,), (1,))
    assert release_resources(**release).status is ReleaseStatus.RELEASED
    assert (held(holder), held(waiter), available(pool)) == ((0,), (4,), (1,))
    assert not Request.objects.filter(pk=waits.request_id, state="waiting").exists()


@pytest.mark.parametrize("step", RELEASE_STEPS.values(), ids=RELEASE_STEPS)
def test_units_of_a_client_that_is_lost_for_ever_are_reaped(
    make_pool, make_process, meanwhile, step
):
    pool = make_pool(4)
    process = make_process(pool, "p", (4,), (3,))

    lose(
        meanwhile,
        step,
        release_resources,
        process=process.pk,
        epoch=1,
        release_id=uuid4(),
        amounts=None,
    )
    expire(process)
    reap_expired()

    assert (held(process), available(pool)) == ((0,), (4,))
