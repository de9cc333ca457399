"""A kept pause: units stay reserved without a shift, and the safety of others may not rest on
them.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from allocation.errors import (
    AlreadyStarted,
    BadKeepTime,
    CapacityWouldBeUnsafe,
    ClaimWouldBeUnsafe,
    KeepWouldBeUnsafe,
    NothingToKeep,
    NotKept,
    ResumeWouldBeUnsafe,
    StaleEpoch,
)
from allocation.fields import ClockTimestamp
from allocation.models import Event, EventKind, Grant, OutboxKind, Process
from allocation.selectors import bank_view, outcome_of
from allocation.services import (
    ReleaseStatus,
    change_claim,
    finish_process,
    keep_resources,
    reap_expired,
    release_resources,
    renew_lease,
    resume_kept,
    set_capacity,
    take_lease,
    unsent_outbox,
)
from tests.allocation.conftest import ask, available, held

pytestmark = pytest.mark.django_db


def keep(process, seconds=600):
    process.refresh_from_db()
    return keep_resources(process=process.pk, epoch=process.epoch, keep_seconds=seconds)


def run_out(process):
    Process.objects.filter(pk=process.pk).update(kept_until=ClockTimestamp() - timedelta(seconds=1))


def test_kept_units_stay_with_the_process_when_its_shift_ends(make_pool, make_process):
    pool = make_pool(10)
    process = make_process(pool, "p", (8,), (4,))

    kept = keep(process)

    assert (held(process), available(pool), process.lease_until) == ((4,), (6,), None)
    assert (kept.amounts, kept.epoch, kept.until) == ({"a": 4}, process.epoch, process.kept_until)
    assert Event.objects.first().kind == EventKind.KEPT


def test_old_shift_can_touch_nothing_that_is_kept(make_pool, make_process):
    process = make_process(make_pool(10), "p", (8,), (4,))
    keep(process)

    assert (
        release_resources(process=process.pk, epoch=1, release_id=uuid4(), amounts=None).status
        is ReleaseStatus.STALE
    )
    assert not renew_lease(process=process.pk, epoch=1)
    assert not renew_lease(process=process.pk, epoch=2)
    for kind, refusal in (("growth", StaleEpoch), ("start", AlreadyStarted)):
        with pytest.raises(refusal):
            ask(process, (1,), kind=kind, epoch=process.epoch)
    assert held(process) == (4,)


def test_keeping_is_refused_if_another_holder_could_not_be_sure_to_finish(make_pool, make_process):
    pool = make_pool(10)
    first, second = (
        make_process(pool, "first", (8,), (4,)),
        make_process(pool, "second", (8,), (2,)),
    )

    with pytest.raises(KeepWouldBeUnsafe, match="stuck: second"):
        keep(first)

    first.refresh_from_db()
    assert (first.kept_until, first.epoch, first.lease_until is None) == (None, 1, False)
    assert held(second) == (2,)


def test_keeping_is_not_refused_because_somebody_waits(make_pool, make_process):
    pool = make_pool(10)
    process, waiter = make_process(pool, "p", (8,), (4,)), make_process(pool, "waiter", (8,))
    waiting = ask(waiter, (7,))

    keep(process)

    assert not outcome_of(waiting.request_id).granted


def test_who_holds_nothing_is_not_let_in_if_only_kept_units_would_let_it_finish(
    make_pool, make_process
):
    pool = make_pool(10)
    keep(make_process(pool, "kept", (4,), (4,)))
    outcome = ask(make_process(pool, "newcomer", (8,)), (1,))

    assert outcome.verdict.value == "wait_unsafe"
    wait = bank_view(pool.pk).waiting[0]
    assert (
        "with only 5 sure to be released, so it could wait for as long as they are reserved"
        in wait.reason
    )
    assert (
        f"Held by kept (4 a, reserved until {wait.blockers[0].kept_until:%H:%M} UTC)."
        in wait.reason
    )


def test_view_leaves_reservations_out_of_the_proof(make_pool, make_process):
    pool = make_pool(10)
    kept = make_process(pool, "kept", (4,), (4,))
    make_process(pool, "holder", (6,), (2,))
    make_process(pool, "big", (8,))
    keep(kept)

    view = bank_view(pool.pk)

    assert [step.process.label for step in view.safe_sequence] == ["holder"]
    assert [row.label for row in view.reserved] == ["kept"]
    assert [row.label for row in view.held_off] == ["big"]
    assert (view.is_safe, view.reserved[0].state) == (True, "reserved")


def test_resumed_shift_goes_on_with_what_was_kept(make_pool, make_process):
    process = make_process(make_pool(10), "p", (8,), (4,))
    keep(process)

    epoch = resume_kept(process=process.pk)

    assert (held(process), process.kept_until, process.epoch) == ((4,), None, epoch)
    assert take_lease(process=process.pk, epoch=epoch, worker="one")
    message = unsent_outbox()[-1]
    assert (message.kind, message.process, message.epoch) == (OutboxKind.START, process.pk, epoch)
    assert Grant.objects.get(process=process).epoch == epoch
    assert ask(process, (2,)).granted


def test_resuming_serves_who_waited_for_safety(make_pool, make_process):
    pool = make_pool(10)
    kept = make_process(pool, "kept", (4,), (4,))
    keep(kept)
    waiting = ask(make_process(pool, "newcomer", (8,)), (1,))
    assert not waiting.granted

    resume_kept(process=kept.pk)

    assert outcome_of(waiting.request_id).granted


def test_resuming_is_refused_while_another_reservation_takes_what_it_may_need(
    make_pool, make_process
):
    pool = make_pool(10)
    first, second = (
        make_process(pool, "first", (8,), (2,)),
        make_process(pool, "second", (4,), (4,)),
    )
    keep(first)
    keep(second)

    with pytest.raises(ResumeWouldBeUnsafe, match="stuck: first"):
        resume_kept(process=first.pk)
    resume_kept(process=second.pk)
    resume_kept(process=first.pk)

    assert (held(first), held(second)) == ((2,), (4,))


def test_reservation_that_ran_out_serves_who_waits_and_cannot_be_resumed(make_pool, make_process):
    pool = make_pool(10)
    kept, waiter = make_process(pool, "kept", (8,), (4,)), make_process(pool, "waiter", (8,))
    waiting = ask(waiter, (7,))
    keep(kept)
    run_out(kept)

    assert reap_expired() == []

    assert (held(kept), held(waiter)) == ((0,), (7,))
    assert outcome_of(waiting.request_id).granted
    assert "ran out" in Event.objects.get(kind=EventKind.KEEP_ENDED).reason
    with pytest.raises(NotKept):
        resume_kept(process=kept.pk)
    assert ask(kept, (1,)).granted


def test_reservation_is_left_alone_until_its_time(make_pool, make_process):
    process = make_process(make_pool(10), "p", (8,), (4,))
    keep(process)

    reap_expired()

    assert held(process) == (4,)


def test_release_and_finish_end_a_reservation(make_pool, make_process):
    pool = make_pool(10)
    released, finished = (
        make_process(pool, "released", (4,), (3,)),
        make_process(pool, "finished", (4,), (3,)),
    )
    epoch = keep(released).epoch
    keep(finished)

    assert release_resources(
        process=released.pk, epoch=epoch, release_id=uuid4(), amounts=None
    ).amounts == {"a": 3}
    assert finish_process(process=finished.pk)

    assert available(pool) == (10,)
    assert not Process.objects.exclude(kept_until=None).exists()


def test_limits_are_checked_without_kept_units(make_pool, make_process):
    pool = make_pool(12)
    keep(make_process(pool, "kept", (4,), (4,)))
    make_process(pool, "holder", (6,), (2,))
    other = make_process(pool, "other", (3,), (3,))

    with pytest.raises(ClaimWouldBeUnsafe):
        change_claim(process=other.pk, maximum={"a": 12})
    with pytest.raises(CapacityWouldBeUnsafe):
        set_capacity(pool=pool.pk, capacity={"a": 9})
    set_capacity(pool=pool.pk, capacity={"a": 10})
    assert available(pool) == (1,)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), 90_000])
def test_reservation_lasts_more_than_nothing_and_at_most_a_day(make_pool, make_process, seconds):
    process = make_process(make_pool(10), "p", (8,), (4,))

    with pytest.raises(BadKeepTime):
        keep(process, seconds)


def test_only_a_live_shift_keeps_and_only_what_it_has(make_pool, make_process):
    process = make_process(make_pool(10), "p", (8,), (4,))
    with pytest.raises(StaleEpoch):
        keep_resources(process=process.pk, epoch=0, keep_seconds=60)
    release_resources(process=process.pk, epoch=1, release_id=uuid4(), amounts={"a": 4})
    with pytest.raises(NothingToKeep):
        keep(process)


def test_database_knows_no_reservation_beside_a_lease(make_pool, make_process):
    process = make_process(make_pool(10), "p", (8,), (4,))

    with pytest.raises(IntegrityError), transaction.atomic():
        Process.objects.filter(pk=process.pk).update(kept_until=ClockTimestamp())
