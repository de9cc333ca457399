from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from allocation.errors import BadAmount, ReleaseExceedsAllocation, ReleaseIdReused, StaleEpoch
from allocation.models import Event, EventKind, Grant, Outbox, OutboxKind, Request, RequestState
from allocation.selectors import outcome_of
from allocation.services import (
    ReleaseStatus,
    finish_process,
    grant_waiting_requests_of_pool,
    release_resources,
)
from allocation.services import grants_on_release as pumping
from tests.allocation.conftest import ask, available, held

pytestmark = pytest.mark.django_db


def release(process, amounts=None, *, epoch=1, release_id=None):
    return release_resources(
        process=process.pk,
        epoch=epoch,
        release_id=release_id or uuid4(),
        amounts=amounts,
        reason="test",
    )


def test_release_gives_back_what_is_named_and_the_shift_goes_on(make_pool, make_process):
    pool = make_pool(10, 10)
    process = make_process(pool, "p", (5, 5), (4, 2))

    released = release(process, {"a": 3})

    assert (released.status, released.amounts) == (ReleaseStatus.RELEASED, {"a": 3})
    assert (held(process), available(pool)) == ((1, 2), (9, 8))
    assert process.lease_until is not None


def test_release_without_amounts_gives_back_all_and_ends_the_shift(make_pool, make_process):
    pool = make_pool(10)
    process = make_process(pool, "p", (5,), (4,))

    release(process)

    assert (held(process), available(pool), process.lease_until) == ((0,), (10,), None)
    assert Grant.objects.get().released_at is not None
    with pytest.raises(StaleEpoch):
        ask(process, (1,), kind="growth", epoch=1)


def test_part_comes_out_of_the_newest_grants_first(make_pool, make_process):
    process = make_process(make_pool(10), "p", (9,), (4,))
    ask(process, (3,))
    ask(process, (2,))

    release(process, {"a": 4})

    assert [grant.remaining for grant in Grant.objects.order_by("pk")] == [[4], [1], [0]]
    assert [grant.released_at is None for grant in Grant.objects.order_by("pk")] == [
        True,
        True,
        False,
    ]


def test_release_of_more_than_is_held_is_refused_not_clamped(make_pool, make_process):
    process = make_process(make_pool(10), "p", (9,), (4,))

    with pytest.raises(ReleaseExceedsAllocation):
        release(process, {"a": 5})
    with pytest.raises(BadAmount):
        release(process, {"a": -1})

    assert held(process) == (4,)


def test_release_sent_twice_is_made_once(make_pool, make_process):
    pool = make_pool(10)
    process = make_process(pool, "p", (9,), (4,))
    again = uuid4()

    first, second = (
        release(process, {"a": 1}, release_id=again),
        release(process, {"a": 1}, release_id=again),
    )

    assert (first.status, second.status) == (ReleaseStatus.RELEASED, ReleaseStatus.REPEATED)
    assert second.amounts == {"a": 1}
    assert available(pool) == (7,)
    assert Event.objects.filter(kind=EventKind.REPEATED).count() == 1


def test_release_id_of_another_process_is_refused(make_pool, make_process):
    pool = make_pool(10)
    p, q = make_process(pool, "p", (4,), (4,)), make_process(pool, "q", (4,), (4,))
    used = release(p, {"a": 1}).release_id

    with pytest.raises(ReleaseIdReused):
        release(q, {"a": 1}, release_id=used)


def test_late_release_of_an_earlier_shift_changes_nothing_and_says_so(make_pool, make_process):
    process = make_process(make_pool(10), "p", (9,), (4,))
    release(process)
    assert ask(process, (5,)).epoch == 2

    late = release(process, epoch=1)

    assert late.status is ReleaseStatus.STALE
    assert held(process) == (5,)
    assert Event.objects.filter(kind=EventKind.STALE, process=process).count() == 1


def test_release_serves_waiters_oldest_first(make_pool, make_process):
    pool = make_pool(10)
    holder = make_process(pool, "holder", (10,), (10,))
    waiters = [make_process(pool, label, (6,)) for label in "xyz"]
    first, second, third = (
        ask(waiter, (units,)) for waiter, units in zip(waiters, (6, 5, 4), strict=True)
    )

    release(holder)

    assert [outcome_of(outcome.request_id).granted for outcome in (first, second, third)] == [
        True,
        False,
        True,
    ]
    assert available(pool) == (0,)
    assert Outbox.objects.filter(kind=OutboxKind.START, process=waiters[0], epoch=1).exists()


def test_waiter_that_would_be_unsafe_is_served_only_when_it_is_safe(make_pool, make_process):
    """Ten units, claims of 8: the second to hold more must wait until the first has given enough
    back.
    """
    pool = make_pool(10)
    a, b = make_process(pool, "a", (8,), (4,)), make_process(pool, "b", (8,), (2,))
    waiting = ask(b, (2,))

    release(a, {"a": 1})
    assert not outcome_of(waiting.request_id).granted
    release(a, {"a": 1})
    assert outcome_of(waiting.request_id).granted


def test_end_of_a_shift_cancels_its_growth(make_pool, make_process):
    pool = make_pool(4)
    make_process(pool, "other", (2,), (2,))
    process = make_process(pool, "p", (4,), (2,))
    growth = ask(process, (2,))

    release(process)

    assert outcome_of(growth.request_id).state == RequestState.CANCELLED


def test_finish_releases_all_and_cancels_what_waits(make_pool, make_process):
    pool = make_pool(4)
    holder, waiter = make_process(pool, "holder", (4,), (4,)), make_process(pool, "waiter", (4,))
    start = ask(waiter, (1,))

    assert finish_process(process=waiter.pk)
    assert finish_process(process=holder.pk, epoch=1)
    assert finish_process(process=holder.pk, epoch=1)

    assert outcome_of(start.request_id).state == RequestState.CANCELLED
    assert available(pool) == (4,)


def test_late_finish_of_an_earlier_shift_changes_nothing(make_pool, make_process):
    process = make_process(make_pool(10), "p", (9,), (4,))
    release(process)
    ask(process, (5,))

    assert not finish_process(process=process.pk, epoch=1)
    assert held(process) == (5,)


def test_pump_beyond_its_bound_asks_to_be_called_again(make_pool, make_process, monkeypatch):
    monkeypatch.setattr(pumping, "GRANTS_PER_TRANSACTION", 2)
    pool = make_pool(3)
    holder = make_process(pool, "holder", (3,), (3,))
    for label in "xyz":
        ask(make_process(pool, label, (1,)), (1,))

    release(holder)

    assert Request.objects.filter(state=RequestState.WAITING).count() == 1
    assert Outbox.objects.filter(kind=OutboxKind.PUMP, pool=pool).count() == 1
    assert grant_waiting_requests_of_pool(pool=pool.pk) == 1


def test_every_event_carries_available_before_and_after_and_the_order_found(
    make_pool, make_process
):
    pool = make_pool(10)
    process = make_process(pool, "p", (9,), (4,))
    release(process, {"a": 1})

    events = list(Event.objects.filter(pool=pool).order_by("version"))

    assert [event.kind for event in events] == ["created", "registered", "granted", "released"]
    assert [(event.available_before, event.available_after) for event in events] == [
        ([0], [10]),
        ([10], [10]),
        ([10], [6]),
        ([6], [7]),
    ]
    assert events[2].sequence == [process.pk]


@pytest.mark.parametrize(
    "statement", ["UPDATE allocation_event SET reason = 'x'", "DELETE FROM allocation_event"]
)
def test_ledger_cannot_be_rewritten(make_pool, statement):
    make_pool(1)

    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


@pytest.mark.parametrize(
    ("statement", "constraint"),
    [
        ("UPDATE allocation_pool SET available = '{-1,5}'", "available_is_never_negative"),
        (
            "UPDATE allocation_pool SET available = '{1,9}', capacity = '{2,0}'",
            "available_within_capacity",
        ),
        (
            "UPDATE allocation_process SET allocated = '{1,9}', max_claim = '{2,0}'",
            "allocated_within_max_claim",
        ),
        ("UPDATE allocation_process SET allocated = '{0}'", "allocated_within_max_claim"),
        ("UPDATE allocation_grant SET remaining = '{0,0}'", "released_when_nothing_remains"),
    ],
)
def test_database_itself_refuses_what_cannot_be_class_by_class(
    make_pool, make_process, statement, constraint
):
    """PostgreSQL's own comparison of arrays is lexicographic: {1,9} <= {2,0} is true."""
    make_process(make_pool(5, 5), "p", (3, 3), (1, 1))

    with (
        pytest.raises(IntegrityError, match=constraint),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
