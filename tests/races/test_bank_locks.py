"""The bank's lock and its transactions, each by a test that waits."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import OperationalError, connection, transaction

from allocation.errors import AlreadyStarted, BankBusy, WrongIsolation
from allocation.models import Event, EventKind, Grant, Outbox, Request, RequestState
from allocation.rules.banker import BankVerdict, Decision
from allocation.rules.fairness import QueueVerdict
from allocation.services import (
    ShareLimits,
    cancel_request,
    change_claim,
    change_share,
    ensure_share,
    finish_process,
    grant_waiting_requests_of_pool,
    register_process,
    release_resources,
    renew_lease,
    set_capacity,
    take_lease,
)
from allocation.services import transaction as bank_transactions
from allocation.services.bank import locked_bank
from allocation.services.shares import put_share
from tests.allocation.conftest import ask, held
from tests.races.conftest import row_held, until_waiting

pytestmark = pytest.mark.django_db(transaction=True)


def grant_in(bank, process, amounts):
    """Grant within an open transaction, so that it can be held open."""
    request = Request(
        id=uuid4(),
        pool=bank.pool,
        process=bank.processes[process.pk],
        kind="start",
        amounts=list(amounts),
        epoch=0,
        state="waiting",
    )
    bank.grant(request, Decision(BankVerdict.GRANT))


def test_decision_waits_for_one_on_another_process_and_class_and_sees_its_result(
    make_pool, make_process, meanwhile
):
    """The whole pool is locked: else both would be granted, and neither could ever finish."""
    pool = make_pool(1, 1)
    p, q = make_process(pool, "p", (1, 1)), make_process(pool, "q", (1, 1))

    with transaction.atomic(), locked_bank(pool.pk, q.pk) as bank:
        rival = meanwhile(ask, process=p, amounts=(1, 0))
        until_waiting(1)
        grant_in(bank, q, (0, 1))

    assert rival.result().verdict is BankVerdict.WAIT_UNSAFE


def test_decision_reads_processes_as_they_are_after_the_wait_for_the_lock(
    make_pool, make_process, meanwhile
):
    """Read before the lock, or in its statement, p would seem to hold nothing and be started
    twice."""
    pool = make_pool(9)
    p = make_process(pool, "p", (4,))

    with transaction.atomic(), locked_bank(pool.pk, p.pk) as bank:
        rival = meanwhile(ask, process=p, amounts=(1,), kind="start")
        until_waiting(1)
        grant_in(bank, p, (2,))

    with pytest.raises(AlreadyStarted):
        rival.result()
    assert held(p) == (2,)


def test_release_serves_one_that_began_to_wait_while_it_stood_in_line(
    make_pool, make_process, meanwhile
):
    pool = make_pool(4)
    holder, waiter = make_process(pool, "holder", (4,), (4,)), make_process(pool, "waiter", (4,))
    late = Request(
        id=uuid4(), pool=pool, process=waiter, kind="start", amounts=[3], epoch=0, state="waiting"
    )

    with transaction.atomic(), locked_bank(pool.pk, waiter.pk) as bank:
        released = meanwhile(
            release_resources, process=holder.pk, epoch=1, release_id=uuid4(), amounts=None
        )
        until_waiting(1)
        bank.store_refusal(
            late, RequestState.WAITING, verdict=BankVerdict.WAIT_UNAVAILABLE, reason=""
        )
        bank.log_request(EventKind.WAITING, late)

    released.result()
    assert held(waiter) == (3,)


@pytest.mark.parametrize(
    "name", ["release", "finish", "cancel", "capacity", "claim", "register", "pump"]
)
def test_every_write_waits_for_the_pool(make_pool, make_process, meanwhile, rival, name):
    pool = make_pool(4)
    process = make_process(pool, "p", (4,), (2,))
    waiting = ask(process, (2,)).request_id
    work, kwargs = {
        "release": (
            release_resources,
            {"process": process.pk, "epoch": 1, "release_id": uuid4(), "amounts": {"a": 1}},
        ),
        "finish": (finish_process, {"process": process.pk}),
        "cancel": (cancel_request, {"request_id": waiting}),
        "capacity": (set_capacity, {"pool": pool.pk, "capacity": {"a": 5}}),
        "claim": (change_claim, {"process": process.pk, "maximum": {"a": 4}}),
        "register": (
            register_process,
            {"pool": pool.pk, "label": "q", "run_ref": "q", "maximum": {}},
        ),
        "pump": (grant_waiting_requests_of_pool, {"pool": pool.pk}),
    }[name]

    with row_held(rival, "allocation_pool", pool.pk):
        late = meanwhile(work, **kwargs)
        until_waiting(1)

    late.result()


def test_renewal_and_taking_up_do_not_wait_for_the_pool(make_pool, make_process, rival):
    process = make_process(pool := make_pool(4), "p", (4,), (2,))

    with row_held(rival, "allocation_pool", pool.pk), connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
        assert take_lease(process=process.pk, epoch=1, worker="one")
        assert renew_lease(process=process.pk, epoch=1)
        cursor.execute("RESET lock_timeout")


def test_killed_in_mid_transaction_leaves_nothing(make_pool, make_process, meanwhile, rival):
    pool = make_pool(4)
    process = make_process(pool, "p", (4,))
    before = Event.objects.count()

    with row_held(rival, "allocation_process", process.pk):
        victim = meanwhile(ask, process=process, amounts=(2,))
        [pid] = until_waiting(1)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
        with pytest.raises(OperationalError):
            victim.result()

    assert (
        Request.objects.count(),
        Grant.objects.count(),
        Outbox.objects.count(),
        Event.objects.count(),
    ) == (0, 0, 0, before)
    assert ask(process, (4,)).granted


def test_lock_that_is_freed_in_time_is_waited_for_again(
    make_pool, make_process, meanwhile, rival, monkeypatch
):
    monkeypatch.setitem(bank_transactions.LIMITS, "lock_timeout", "200ms")
    pool = make_pool(4)
    process = make_process(pool, "p", (4,))

    with row_held(rival, "allocation_pool", pool.pk):
        late = meanwhile(ask, process=process, amounts=(2,))
        until_waiting(1)
        until_waiting(0)

    assert late.result().granted


def test_lock_that_is_never_freed_makes_the_bank_busy(make_pool, make_process, rival, monkeypatch):
    monkeypatch.setitem(bank_transactions.LIMITS, "lock_timeout", "20ms")
    pool = make_pool(4)
    process = make_process(pool, "p", (4,))

    with row_held(rival, "allocation_pool", pool.pk), pytest.raises(BankBusy):
        ask(process, (2,))


def test_other_isolation_than_read_committed_is_refused(make_pool):
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_isolation = 'repeatable read'")
        with pytest.raises(WrongIsolation, match="isolation: repeatable read"):
            make_pool(1)
        cursor.execute("RESET default_transaction_isolation")


def test_other_isolation_than_read_committed_is_refused_by_the_server_too(make_pool, make_process):
    process = make_process(make_pool(4), "p", (4,))
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_isolation = 'repeatable read'")
        try:
            with pytest.raises(WrongIsolation, match="isolation: repeatable read"):
                ask(process, (2,))
        finally:
            cursor.execute("RESET default_transaction_isolation")


def test_bank_is_not_entered_within_a_transaction_of_the_callers(make_pool):
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        make_pool(1)


def test_start_sees_the_limit_that_was_lowered_while_it_waited_for_the_lock(
    make_pool, make_process, meanwhile
):
    """Read before the lock, the limit would have room for both."""
    pool = make_pool(9)
    share = ensure_share(pool=pool.pk, ref="team/1", name="news")
    make_process(pool, "first", (4,), (1,), share=share.pk)
    second = make_process(pool, "second", (4,), share=share.pk)

    with transaction.atomic():
        put_share(share.pk, ShareLimits(limits={"a": 5}))
        rival = meanwhile(ask, process=second, amounts=(1,))
        until_waiting(1)

    assert rival.result().verdict is QueueVerdict.WAIT_SHARE
    assert held(second) == (0,)


def test_limit_waits_for_a_start_and_counts_it(make_pool, make_process, meanwhile):
    pool = make_pool(9)
    share = ensure_share(pool=pool.pk, ref="team/1", name="news")
    first, second = (make_process(pool, label, (4,), share=share.pk) for label in "ab")

    with transaction.atomic(), locked_bank(pool.pk, first.pk) as bank:
        lowered = meanwhile(change_share, share=share.pk, limits=ShareLimits(limits={"a": 4}))
        until_waiting(1)
        grant_in(bank, first, (2,))

    lowered.result()
    assert ask(second, (1,)).verdict is QueueVerdict.WAIT_SHARE
