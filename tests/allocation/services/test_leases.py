from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models import F

from allocation.errors import StaleEpoch
from allocation.fields import ClockTimestamp
from allocation.models import Event, EventKind, OutboxKind, Process, Request, RequestState
from allocation.selectors import outcome_of
from allocation.services import (
    ReapedShift,
    ReleaseStatus,
    is_holder,
    mark_sent,
    reap_expired,
    release_resources,
    renew_lease,
    take_lease,
    unsent_outbox,
)
from tests.allocation.conftest import ask, available, held

pytestmark = pytest.mark.django_db


def expire(process):
    Process.objects.filter(pk=process.pk).update(
        lease_until=ClockTimestamp() - timedelta(seconds=1)
    )


def lease_left(process):
    return (
        Process.objects.annotate(left=F("lease_until") - ClockTimestamp())
        .get(pk=process.pk)
        .left.total_seconds()
    )


def test_first_to_take_up_a_shift_wins(make_pool, make_process):
    process = make_process(make_pool(4), "p", (4,), (1,))

    assert take_lease(process=process.pk, epoch=1, worker="one")
    assert not take_lease(process=process.pk, epoch=1, worker="two")
    assert Process.objects.get().worker == "one"


@pytest.mark.parametrize("epoch", [0, 2])
def test_shift_of_another_epoch_cannot_be_taken_up(make_pool, make_process, epoch):
    process = make_process(make_pool(4), "p", (4,), (1,))

    assert not take_lease(process=process.pk, epoch=epoch, worker="one")


def test_shift_taken_up_too_late_is_not_begun(make_pool, make_process):
    process = make_process(make_pool(4), "p", (4,), (1,))
    expire(process)

    assert not take_lease(process=process.pk, epoch=1, worker="one")


def test_lease_runs_for_the_pickup_time_then_for_the_lease_time(make_pool, make_process, settings):
    settings.BANK_PICKUP_SECONDS, settings.BANK_LEASE_SECONDS = 500, 60
    process = make_process(make_pool(4), "p", (4,), (1,))
    assert 400 < lease_left(process) <= 500

    take_lease(process=process.pk, epoch=1, worker="one")
    assert 50 < lease_left(process) <= 60

    settings.BANK_LEASE_SECONDS = 90
    assert renew_lease(process=process.pk, epoch=1)
    assert 80 < lease_left(process) <= 90


def test_after_a_failover_that_lost_commits_the_shift_of_before_is_told_from_its_successor(
    make_pool, make_process
):
    """Both have the same epoch: the grant of the first one's successor is not known to the server
    that took over.
    """
    process = make_process(make_pool(4), "p", (4,), (1,))
    take_lease(process=process.pk, epoch=1, worker="before")
    Process.objects.update(worker="")  # as the second server has it

    assert take_lease(process=process.pk, epoch=1, worker="after")

    assert not renew_lease(process=process.pk, epoch=1, worker="before")
    assert renew_lease(process=process.pk, epoch=1, worker="after")
    assert (
        is_holder(process=process.pk, epoch=1, worker="before"),
        is_holder(process=process.pk, epoch=1, worker="after"),
    ) == (
        False,
        True,
    )


def test_renewal_tells_a_lost_shift_to_stop(make_pool, make_process):
    process = make_process(make_pool(4), "p", (4,), (1,))
    expire(process)
    reap_expired()

    assert not renew_lease(process=process.pk, epoch=1)
    assert not renew_lease(process=process.pk, epoch=2)


def test_renewal_after_the_shift_ended_does_not_revive_it(make_pool, make_process):
    process = make_process(make_pool(4), "p", (4,), (1,))
    release_resources(process=process.pk, epoch=1, release_id=uuid4(), amounts=None)

    assert not renew_lease(process=process.pk, epoch=1)
    process.refresh_from_db()
    assert process.lease_until is None


def test_lost_shift_is_reaped_and_its_units_serve_who_waits(make_pool, make_process):
    pool = make_pool(4)
    lost, kept = make_process(pool, "lost", (2,), (2,)), make_process(pool, "kept", (2,), (2,))
    waiting = ask(make_process(pool, "waiter", (2,)), (2,))
    expire(lost)

    assert reap_expired() == [
        ReapedShift(process=lost.pk, run_ref="run:lost", epoch=1, label="lost")
    ]

    assert (held(lost), lost.epoch, lost.lease_until) == ((0,), 2, None)
    assert held(kept) == (2,)
    assert outcome_of(waiting.request_id).granted
    assert reap_expired() == []
    assert Event.objects.filter(kind=EventKind.REAPED, process=lost).count() == 1


def test_reaped_shift_is_told_to_its_owner_and_may_start_again(make_pool, make_process):
    process = make_process(make_pool(4), "p", (4,), (1,))
    expire(process)
    reap_expired()

    message = unsent_outbox()[-1]
    assert (message.kind, message.process, message.run_ref, message.epoch) == (
        OutboxKind.REAPED,
        process.pk,
        "run:p",
        1,
    )
    assert ask(process, (1,)).epoch == 3


def test_zombie_of_a_reaped_shift_can_neither_release_nor_ask(make_pool, make_process):
    pool = make_pool(4)
    process = make_process(pool, "p", (4,), (2,))
    expire(process)
    reap_expired()
    ask(process, (3,))

    late = release_resources(process=process.pk, epoch=1, release_id=uuid4(), amounts={"a": 2})

    assert late.status is ReleaseStatus.STALE
    assert (held(process), available(pool)) == ((3,), (1,))
    with pytest.raises(StaleEpoch):
        ask(process, (1,), kind="growth", epoch=1)


def test_reaping_cancels_the_growth_of_the_lost_shift(make_pool, make_process):
    pool = make_pool(4)
    make_process(pool, "other", (3,), (3,))
    process = make_process(pool, "p", (4,), (1,))
    growth = ask(process, (2,))
    expire(process)

    reap_expired()

    assert outcome_of(growth.request_id).state == RequestState.CANCELLED


def test_wait_past_its_deadline_expires_and_is_not_served(make_pool, make_process):
    pool = make_pool(4)
    holder = make_process(pool, "holder", (4,), (4,))
    waiter = make_process(pool, "waiter", (4,))
    waiting = ask(waiter, (1,), deadline_seconds=60)
    Request.objects.filter(pk=waiting.request_id).update(
        deadline=ClockTimestamp() - timedelta(seconds=1)
    )

    release_resources(process=holder.pk, epoch=1, release_id=uuid4(), amounts=None)
    assert not outcome_of(waiting.request_id).granted
    assert reap_expired() == []

    assert outcome_of(waiting.request_id).state == RequestState.EXPIRED
    assert outcome_of(waiting.request_id).reason == "The deadline passed."
    assert ask(waiter, (1,)).granted


def test_message_is_offered_until_it_is_marked_as_sent(make_pool, make_process):
    make_process(make_pool(4), "p", (4,), (1,))
    [message] = unsent_outbox()
    assert unsent_outbox() == [message]

    assert mark_sent(ids=[message.id]) == 1
    assert unsent_outbox() == []
    assert mark_sent(ids=[message.id]) == 0
